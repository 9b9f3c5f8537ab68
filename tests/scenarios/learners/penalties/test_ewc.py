"""EWC: the gradient of its penalty, and its Fisher, on networks that make that hard."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from probe.examples import Examples
from probe.seeding import stream
from probe.training.loop import Recipe
from scenarios.learners.penalties.ewc import diagonal_fisher
from scenarios.networks import ARCHITECTURES
from tests.laws.plain_penalties import fisher_by_loop
from tests.scenarios.learners.tiny_learners import (
    chain,
    learner as tiny_learner,
    points,
    seeded,
)

K = 3


TASKS = [
    points(
        index,
        dims=5,
        apart=1 / 3,
    )
    for index in range(2)
]


def learner(**changes):
    model = chain(lambda: nn.Linear(5, 4), nn.Tanh, lambda: nn.Linear(4, 6)).double()
    recipe = Recipe(
        epochs=3,
        batch_size=8,
        learning_rate=0.01,
    )
    return tiny_learner(
        "ewc",
        recipe=recipe,
        model=model,
        strength=7.0,
        **changes,
    )


@pytest.mark.parametrize(
    ("changes", "outputs"),
    [
        ({"loss_classes": "all"}, range(6)),
        ({"loss_classes": "seen"}, range(4)),
        ({"loss_classes": "task"}, (2, 3)),
        ({"exemplars": {"per_class": 4}}, range(6)),
    ],
)
def test_the_fisher_is_that_of_the_outputs_that_compete(changes, outputs):
    """On the task's own examples, not on the exemplars."""
    own = learner(**changes)
    own.learn(TASKS[0])
    first = {n: w.clone() for n, w in own.penalty.importance.items()}
    own.learn(TASKS[1])
    expected = fisher_by_loop(own.model, TASKS[1].train, outputs)
    for n, w in own.penalty.importance.items():
        torch.testing.assert_close(
            w - first[n],
            expected[n],
            rtol=1e-8,
            atol=1e-12,
        )
    idle = [c for c in range(6) if c not in outputs]
    assert not (own.penalty.importance["2.weight"] - first["2.weight"])[idle].any()


def with_norm():
    """Return convolutions, used batch norm, dropout, ReLU in place, and frozen weights."""
    layers = nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
    rest = (
        nn.Dropout(0.5),
        nn.Conv2d(4, 3, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(48, 8),
    )
    model = nn.Sequential(*layers, *rest, nn.LayerNorm(8), nn.Linear(8, K))
    model(2 + 3 * torch.randn(50, 1, 8, 8))
    model[4].requires_grad_(False)
    model[9].bias.requires_grad_(False)
    return model


class Rows(nn.Module):
    """The rows of an example through a dense layer, or through an LSTM, which vmap gets wrong."""

    def __init__(self, recurrent):
        super().__init__()
        self.row = nn.LSTM(8, 5, batch_first=True) if recurrent else nn.Linear(8, 5)
        self.out = nn.Linear(5, K)
        self.recurrent = recurrent

    def forward(self, x):
        seen = self.row(x.flatten(1, 2))
        return self.out(seen[0][:, -1] if self.recurrent else torch.tanh(seen).mean(1))


class Odd(nn.Module):
    """Three dense layers, used in an odd way; a fourth has the weight of the second."""

    def __init__(self, use):
        super().__init__()
        self.first = nn.Linear(64, 6)
        self.again = nn.Linear(6, 6)
        self.out = nn.Linear(6, K)
        self.use = use
        if use is tied:
            self.other = nn.Linear(6, 6)
            self.other.weight = self.again.weight
        self.register_buffer("mean", torch.zeros(64))

    def forward(self, x):
        return self.use(self, x)


def twice(m, x):
    """Use one layer twice."""
    return m.out(m.again(torch.tanh(m.again(m.first(x.flatten(1))))))


def tied(m, x):
    """Use two layers with one weight."""
    return m.out(m.other(torch.tanh(m.again(m.first(x.flatten(1))))))


def branching(m, x):
    """Let the data decide on a branch that most examples never take."""
    seen = m.first(x.flatten(1))
    return m.out(m.again(seen) if float(x.sum()) > 0 else seen)


def counting(m, x):
    """Write a buffer in place in every forward pass."""
    m.mean += x.flatten(1).mean(0)
    return twice(m, x)


def writing(m, x):
    """Write into the input."""
    return twice(m, x.sub_(1.0))


def noisy(m, x):
    """Draw at random in eval mode, too."""
    return twice(m, functional.dropout(x, 0.5, training=True))


ODD = (
    twice,
    tied,
    branching,
    counting,
    writing,
    noisy,
)
NETWORKS = {
    "mlp": lambda: ARCHITECTURES["mlp"].build((1, 8, 8), K),
    "norm": with_norm,
    "tokens": lambda: Rows(recurrent=False),
    "recurrent": lambda: Rows(recurrent=True),
    **{use.__name__: lambda use=use: Odd(use) for use in ODD},
}


X = torch.randn(
    13,
    1,
    8,
    8,
    generator=stream(1, "x"),
    dtype=torch.float64,
)
DATA = Examples(X, torch.arange(13) % K)


def network(name):
    return seeded(NETWORKS[name], 3).double()


def computed(model, seed=0):
    return diagonal_fisher(model, functional.cross_entropy, DATA, stream(seed))


@pytest.mark.parametrize("name", sorted(NETWORKS.keys() - {"noisy"}))
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_is_the_mean_of_squared_gradients_of_single_examples(name):
    """And the data stay, also for a model that writes into its input."""
    before = X.clone()
    got = computed(network(name))
    expected = fisher_by_loop(network(name), DATA)
    assert torch.equal(X, before)
    assert got.keys() == expected.keys()
    for n, each in expected.items():
        assert each.any()
        torch.testing.assert_close(
            got[n],
            each,
            rtol=1e-9,
            atol=1e-15,
        )


def test_a_model_that_draws_at_random_follows_the_generator():
    model = network("noisy")
    before = torch.get_rng_state()
    first, second, other = (computed(model, seed) for seed in (0, 0, 5))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first["first.weight"], second["first.weight"])
    assert not torch.equal(first["first.weight"], other["first.weight"])
