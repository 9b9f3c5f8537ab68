"""A training's history against its steps, and the notes on it."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from probe.analysis.statements import STUCK
from probe.examples import Examples
from probe.seeding import stream
from probe.training.history import History, never_left, notes_of
from probe.training.loop import HistoryRecorder, Objective, fit
from probe.training.recipe import Recipe

N, SIZE, EPOCHS = 50, 16, 4


class Centred(nn.Module):
    """Takes off a mean over batches, a buffer that no state dict holds."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.register_buffer("centre", torch.zeros(4), persistent=False)

    def forward(self, x):
        if self.training:
            self.centre = 0.5 * self.centre + 0.5 * x.detach().mean(0)
        return self.layer(x - self.centre)


def data():
    x = torch.randn(N, 4, generator=stream(0, "x"))
    return Examples(x, x[:, :3].argmax(1))


def model():
    made = Centred()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=stream(0)))
    return made


def recipe(epochs=EPOCHS):
    return Recipe(
        epochs=epochs,
        batch_size=SIZE,
        optimizer="sgd",
        learning_rate=0.3,
    )


def trained(epochs=EPOCHS, kept=()):
    own = model()
    watched = HistoryRecorder(kept)
    fit(
        own,
        data(),
        recipe(epochs),
        stream(0, "fit"),
        watched,
    )
    return own, watched


class Steps(Objective):
    """Notes the loss, the hits and the size of each batch."""

    def __init__(self):
        self.seen = []

    def loss(self, model, x, y):
        logits = model(x)
        loss = functional.cross_entropy(logits, y)
        self.seen.append((loss.item(), int((logits.argmax(1) == y).sum()), len(y)))
        return loss


def test_a_history_is_what_each_step_sees():
    history = trained()[1].history
    steps = Steps()
    fit(
        model(),
        data(),
        recipe(),
        stream(0, "fit"),
        steps,
    )
    each = torch.tensor(steps.seen, dtype=torch.float64).view(EPOCHS, -1, 3)
    means = each[:, :, 0].mean(1).tolist()
    assert history.losses == pytest.approx((steps.seen[0][0], *means), rel=1e-5)
    assert history.accuracies == pytest.approx(
        tuple((each[:, :, 1].sum(1) / N).tolist()), abs=1e-12
    )
    assert history.losses[-1] < history.losses[0]
    assert len(set(history.accuracies)) > 1


@pytest.mark.parametrize(
    "accuracies",
    [
        (),
        (0.5, 0.6),
        (1.01,),
        (math.nan,),
    ],
)
def test_what_no_training_gives_is_refused(accuracies):
    with pytest.raises(ValueError, match=r"no training gives|empty"):
        History(losses=(2.3, 1.0), accuracies=accuracies)


COURSES = [
    (
        [2.30, 2.25, 2.24, 2.23, 2.22],
        [0.20, 0.24, 0.27, 0.30],
        False,
    ),  # fine-tuned, conv3
    ([2.3, 0.3, 0.07, 0.065, 0.06], [0.9, 0.98, 0.982, 0.986], True),
    ([2.3, 0.3, 0.16, 0.15, 0.14], [0.9, 0.93, 0.96, 0.97], False),
    (
        [2.3, 1.62, 1.604, 1.602, 1.60],
        [0.599, 0.6, 0.6, 0.6],
        True,
    ),  # as far as it can get
    ([2.3, 1.5], [0.6], False),  # a single epoch cannot tell
    ([2.3, 0.1], [0.99], True),  # but there is nothing left to learn
    ([2.3, 0.4, 1.0, 1.6, 2.1], [0.9, 0.7, 0.5, 0.3], False),  # it rises
    (
        [2.3, *[0.30, 0.21] * 5],
        [0.9, 0.93] * 5,
        True,
    ),  # noise: the means of two epochs are level
]


@pytest.mark.parametrize(("losses", "accuracies", "converged"), COURSES)
def test_a_training_converged_where_an_epoch_changes_little_in_absolute_terms(
    losses,
    accuracies,
    converged,
):
    history = History(losses=tuple(losses), accuracies=tuple(accuracies))
    assert history.converged == converged
    noted = f"its training has not converged: loss {losses[-1]:.2f} ("
    assert [noted in note for note in notes_of(history)] == [True] * (
        not converged and len(losses) > 2
    )


@pytest.mark.parametrize(
    ("losses", "stuck"),
    [
        ([2.3, 2.3], False),  # a single epoch cannot tell
        ([2.3, 9.0, 2.2], True),
        ([2.3, 9.0, 2.18], False),
        ([0.009, 0.009, 0.009], False),  # there was nothing to learn
    ],
)
def test_a_training_without_effect_is_noted(losses, stuck):
    history = History(losses=tuple(losses), accuracies=(0.9,) * (len(losses) - 1))
    assert never_left(losses) == stuck == (notes_of(history) == [STUCK])
