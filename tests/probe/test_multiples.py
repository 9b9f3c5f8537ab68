"""Multiples of the epochs, read off one training, are what trainings of these lengths give."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from probe.errors import InputError
from probe.examples import Examples
from probe.retrain import retrain_each
from probe.retraining import RetrainSettings
from probe.seeding import global_stream, stream
from probe.training.recipe import Recipe
from tests.laws.zoo.written import ABC, Written
from tests.probe.training.test_history import Centred

Y = torch.arange(90) % 3
DATA = Examples(
    functional.one_hot(Y, 6) + torch.randn(90, 6, generator=stream(0)),
    Y,
)
TEST = Examples(
    functional.one_hot(Y, 6) + torch.randn(90, 6, generator=stream(1)),
    Y,
)
EPOCHS, MULTIPLES = 2, (1, 2, 4)


def chain():
    norm = nn.BatchNorm1d(16)
    drawn = nn.Dropout(0.3)
    return nn.Sequential(
        nn.Linear(6, 16), norm, nn.ReLU(), drawn, nn.Linear(16, 4), Centred()
    )


def run_whole():
    def run(m, x):
        return m.c(
            m.b(
                torch.repeat_interleave(
                    m.a(x),
                    (x[0] * 0 + 1).long(),
                    1,
                )
            ).relu()
        )

    return Written(run, ABC)


def measured(make, features, **how):
    with global_stream(stream(0)):
        model = make()
    return list(
        retrain_each(model, features, DATA, TEST, 3, RetrainSettings(seed=7, **how))
    )


def recipe(epochs=EPOCHS, **changes):
    return Recipe(epochs=epochs, batch_size=16, learning_rate=0.02, **changes)


CASES = [(chain, ["0", "2", "4"]), (run_whole, ["b"])]


@pytest.mark.parametrize(
    ("make", "features"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_they_are_what_trainings_of_their_lengths_give(make, features):
    """Bit for bit, also batch norm's statistics, dropout's draws and buffers of no state dict."""
    together = measured(make, features, recipe=recipe(), multiples=MULTIPLES)
    assert [(one.feature, one.multiple) for one in together] == [
        (feature, multiple) for feature in features for multiple in MULTIPLES
    ]
    for multiple in MULTIPLES:
        own = [one for one in together if one.multiple == multiple]
        alone = measured(make, features, recipe=recipe(EPOCHS * multiple))
        for mine, separate in zip(own, alone, strict=True):
            assert torch.equal(mine.predicted, separate.predicted)
            assert mine.history == separate.history
            assert mine.notes == separate.notes
    last = {one.feature: one.predicted for one in together}
    assert any(not torch.equal(one.predicted, last[one.feature]) for one in together)


@pytest.mark.parametrize(
    ("make", "features"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_half_of_the_epochs_is_what_a_training_of_half_the_epochs_gives(make, features):
    of_one, of_three, both = (
        measured(make, features, recipe=recipe(epochs), multiples=multiples)
        for epochs, multiples in ((1, (1,)), (3, (1,)), (2, (1, 2)))
    )
    assert {one.at_half for one in of_one} == {None}
    for one, half in zip(of_three, of_one, strict=True):
        assert torch.equal(one.at_half, half.predicted)
    for one, two in zip(both[::2], both[1::2], strict=True):
        assert torch.equal(two.at_half, one.predicted)
    # Where nothing is trained, nothing moves.
    [at_output] = measured(chain, ["5"], recipe=recipe(2))
    assert at_output.at_half is at_output.history is None


def test_a_retraining_may_stop_early_and_be_given_in_steps():
    """90 examples are six steps an epoch; of a training that may stop, no half is known."""
    early = recipe(60, patience=1, validation=0.2)
    [stopped] = measured(chain, ["2"], recipe=early)
    assert 1 < len(stopped.history.accuracies) < 60
    assert stopped.at_half is None
    by_steps, by_epochs = (
        measured(chain, ["2"], recipe=own, multiples=(1, 2))
        for own in (recipe(iterations=12), recipe(2))
    )
    for one, other in zip(by_steps, by_epochs, strict=True):
        assert torch.equal(one.predicted, other.predicted)
        assert torch.equal(one.at_half, other.at_half)


@pytest.mark.parametrize(
    "multiples",
    [(), (0, 1), (2, 1), (1, 2.0)],
)
def test_what_are_no_multiples_is_refused(multiples):
    with pytest.raises(InputError, match=r"the budget must be multiples .* ascending"):
        RetrainSettings(multiples=multiples)


@pytest.mark.parametrize(
    "changes",
    [{"schedule": "cosine"}, {"warmup": 0.1}, {"patience": 1, "validation": 0.1}],
)
def test_a_rate_that_depends_on_the_length_is_refused(changes):
    with pytest.raises(InputError, match="depends on its length"):
        RetrainSettings(recipe=recipe(**changes), multiples=(1, 2))
    assert RetrainSettings(recipe=recipe(**changes), multiples=(3,)).multiples == (3,)
