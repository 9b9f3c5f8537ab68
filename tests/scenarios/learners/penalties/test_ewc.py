"""EWC: the gradient of its penalty, and its Fisher, on networks that make that hard."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.examples import Examples
from probe.training.loop import Recipe
from scenarios.learners.penalties import ewc
from scenarios.learners.penalties.ewc import Ewc, diagonal_fisher
from scenarios.networks import ARCHITECTURES
from tests.laws.plain_penalties import fisher_by_loop
from tests.scenarios.learners.tiny_learners import chain, points, seeded
from tests.scenarios.learners.tiny_learners import learner as tiny_learner

K = 3


def task(index: int) -> object:
    return points(index, dims=5, apart=1 / 3)


def learner(**changes: object) -> Ewc:
    model = chain(lambda: nn.Linear(5, 4), nn.Tanh, lambda: nn.Linear(4, 6)).double()
    recipe = Recipe(epochs=3, batch_size=8, learning_rate=0.01)
    return tiny_learner("ewc", recipe=recipe, model=model, strength=7.0, **changes)


def test_the_gradient_is_that_of_finite_differences_of_the_whole_objective() -> None:
    """L + (lambda / 2) sum_j F_j (theta - theta_j)^2, every term of two past tasks written out."""
    own, past = learner(), []
    for index in range(2):
        own.learn(task(index))
        anchor = {n: p.detach().clone() for n, p in own.model.named_parameters()}
        past.append((fisher_by_loop(own.model, task(index).train), anchor))
    x, y = task(2).train.x, task(2).train.y
    draw = torch.Generator().manual_seed(9)
    for p in own.model.parameters():
        p.data += 0.3 * torch.randn(p.shape, generator=draw, dtype=p.dtype)

    @torch.no_grad()
    def objective() -> float:
        total = functional.cross_entropy(own.model(x), y)
        for fisher, anchor in past:
            for n, p in own.model.named_parameters():
                total = total + 7.0 / 2 * (fisher[n] * (p - anchor[n]) ** 2).sum()
        return float(total)

    own.model.zero_grad()
    own.loss(own.model, x, y).backward()
    bare = [p.grad.clone() for p in own.model.parameters()]
    own.after_backward(own.model)
    step = 1e-5
    for p, without in zip(own.model.parameters(), bare, strict=True):
        flat, slopes = p.detach().flatten(), []
        for k in range(len(flat)):
            here = float(flat[k])
            flat[k] = here + step
            above = objective()
            flat[k] = here - step
            slopes.append((above - objective()) / (2 * step))
            flat[k] = here
        expected = torch.tensor(slopes, dtype=torch.float64).view_as(p)
        torch.testing.assert_close(p.grad, expected, rtol=1e-6, atol=1e-8)
        assert not torch.allclose(without, expected, rtol=1e-2)


@pytest.mark.parametrize(
    ("changes", "outputs"),
    [
        ({"competing": "all"}, range(6)),
        ({"competing": "seen"}, range(4)),
        ({"competing": "task"}, (2, 3)),
        ({"exemplars": {"per_class": 4}}, range(6)),
    ],
)
def test_the_fisher_is_that_of_the_outputs_that_compete(
    changes: dict[str, object], outputs: Sequence[int]
) -> None:
    """On the task's own examples, not on the exemplars."""
    own = learner(**changes)
    own.learn(task(0))
    first = {n: w.clone() for n, w in own.penalty.importance.items()}
    own.learn(task(1))
    expected = fisher_by_loop(own.model, task(1).train, outputs)
    for n, w in own.penalty.importance.items():
        torch.testing.assert_close(w - first[n], expected[n], rtol=1e-8, atol=1e-12)
    idle = [c for c in range(6) if c not in outputs]
    assert not (own.penalty.importance["2.weight"] - first["2.weight"])[idle].any()


def test_a_fisher_of_fewer_examples() -> None:
    """Random ones, without repeats: all of them give the whole mean, one gives its own square."""
    importance = []
    for count in (None, 24, 100, 1):
        own = learner(fisher_examples=count)
        own.learn(task(0))
        importance.append(own.penalty.importance)
    whole, same, more, one = importance
    torch.testing.assert_close(whole, same)
    torch.testing.assert_close(whole, more)
    data = task(0).train
    each = [fisher_by_loop(own.model, data.take(torch.tensor([k]))) for k in range(24)]
    near = [all(torch.allclose(one[n], f[n]) for n in f) for f in each]
    assert near.count(True) == 1


def with_norm() -> nn.Module:
    """Convolutions, batch norm that has seen data, dropout, ReLU in place, frozen weights."""
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.Dropout(0.5),
        nn.Conv2d(4, 3, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(48, 8),
        nn.LayerNorm(8),
        nn.Linear(8, K),
    )
    model(2 + 3 * torch.randn(50, 1, 8, 8))
    model[4].requires_grad_(False)
    model[9].bias.requires_grad_(False)
    return model


class Tokens(nn.Module):
    """A dense layer on every row of an example: its gradients are sums of outer products."""

    def __init__(self) -> None:
        super().__init__()
        self.row, self.out = nn.Linear(8, 5), nn.Linear(5, K)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(torch.tanh(self.row(x.flatten(1, 2))).mean(1))


class Recurrent(Tokens):
    """Rows through an LSTM, which vmap gets wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.row = nn.LSTM(8, 5, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.row(x.flatten(1, 2))[0][:, -1])


class Twice(nn.Module):
    """One layer used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.again, self.out = nn.Linear(64, 6), nn.Linear(6, 6), nn.Linear(6, K)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.again(torch.tanh(self.again(self.first(x.flatten(1))))))


class Borrowed(Twice):
    """A layer's weights also used without calling the layer, which no hook can see."""

    def forward(self, x: Tensor) -> Tensor:
        seen = torch.tanh(self.again(self.first(x.flatten(1))))
        return self.out(functional.linear(seen, self.again.weight))


class Tied(Twice):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.other = nn.Linear(6, 6)
        self.other.weight = self.again.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.other(torch.tanh(self.again(self.first(x.flatten(1))))))


class Branching(Twice):
    """Control flow that depends on the data, and a branch that most examples never take."""

    def forward(self, x: Tensor) -> Tensor:
        seen = self.first(x.flatten(1))
        return self.out(self.again(seen) if float(x.sum()) > 0 else seen)


class Counting(Twice):
    """A buffer written in place in every forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(64))

    def forward(self, x: Tensor) -> Tensor:
        self.mean += x.flatten(1).mean(0)
        return super().forward(x)


class Writing(Twice):
    """Writes into its input."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.sub_(1.0))


class Noisy(Twice):
    """Draws at random in eval mode, too."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(functional.dropout(x, 0.5, training=True))


class Broken(Twice):
    def forward(self, x: Tensor) -> Tensor:
        raise ValueError("the hose is off")


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: ARCHITECTURES["mlp"].build((1, 8, 8), K),
    "cnn3": lambda: ARCHITECTURES["cnn3"].build((1, 8, 8), K),
    "norm": with_norm,
    "tokens": Tokens,
    "recurrent": Recurrent,
    "twice": Twice,
    "borrowed": Borrowed,
    "tied": Tied,
    "branching": Branching,
    "counting": Counting,
    "writing": Writing,
    "noisy": Noisy,
    "broken": Broken,
}


def network(name: str) -> nn.Module:
    return seeded(NETWORKS[name], 3).double()


def examples(n: int = 13) -> Examples:
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(n, 1, 8, 8, generator=draw, dtype=torch.float64)
    return Examples(x, torch.randint(K, (n,), generator=draw))


def computed(model: nn.Module, data: Examples, seed: int = 0) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return diagonal_fisher(model, functional.cross_entropy, data, draw)


@pytest.mark.parametrize("name", sorted(NETWORKS.keys() - {"noisy", "broken"}))
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_is_the_mean_of_squared_gradients_of_single_examples(name: str) -> None:
    """And the data stay, also for a model that writes into its input."""
    data = examples()
    got, expected = computed(network(name), data), fisher_by_loop(network(name), examples())
    assert torch.equal(data.x, examples().x)
    assert got.keys() == expected.keys()
    for n, each in expected.items():
        assert each.any()
        torch.testing.assert_close(got[n], each, rtol=1e-9, atol=1e-15)


def test_a_weight_that_is_used_past_its_layer_is_seen_where_the_first_example_is_sure() -> None:
    """The loss of such an example has no gradient in which the closed form could be checked."""
    model, data = network("borrowed"), examples()
    data.x[0] *= 1000
    sure = model(data.x).argmax(1)
    data = Examples(data.x, torch.cat([sure[:1], (sure[1:] + 1) % K]))
    got, expected = computed(model, data), fisher_by_loop(model, data)
    for n, each in expected.items():
        torch.testing.assert_close(got[n], each, rtol=1e-9, atol=1e-12)


def test_is_not_the_square_of_the_mean_gradient() -> None:
    """The negative control: that one is smaller, as a mean's square is."""
    model, data = network("mlp"), examples(64)
    fine = computed(model, data)
    model.zero_grad()
    functional.cross_entropy(model(data.x), data.y).backward()
    coarse = {n: p.grad**2 for n, p in model.named_parameters()}
    assert all((fine[n] >= coarse[n] * (1 - 1e-9)).all() for n in fine)
    totals = [float(sum(each.sum() for each in f.values())) for f in (fine, coarse)]
    assert totals[0] > 10 * totals[1]


def test_of_logistic_regression_in_closed_form() -> None:
    """For a single dense layer the gradient is (p - onehot(y)) x^T."""
    data = examples()
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, K)).double()
    got = computed(model, data)
    residual = model(data.x).softmax(1) - functional.one_hot(data.y, K)
    outer = residual[:, :, None] * data.x.flatten(1)[:, None, :]
    torch.testing.assert_close(got["1.weight"], outer.square().mean(0).detach())
    torch.testing.assert_close(got["1.bias"], residual.square().mean(0).detach())


@pytest.mark.parametrize("name", ["norm", "counting", "branching"])
def test_leaves_the_model_as_it_was(name: str) -> None:
    model = network(name).train()
    modes = [module.training for module in model.modules()]
    before = {n: t.clone() for n, t in model.state_dict().items()}
    gradients = [p.grad for p in model.parameters()]
    computed(model, examples())
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(before[n], t) for n, t in model.state_dict().items())
    assert [p.grad for p in model.parameters()] == gradients
    assert not any(module._forward_hooks for module in model.modules())


def test_of_each_example_does_not_depend_on_the_others() -> None:
    """In eval mode batch norm does not couple them; in train mode it would."""
    model, data = network("norm"), examples(8)
    halves = [Examples(data.x[s], data.y[s]) for s in (slice(0, 4), slice(4, 8))]
    whole, parts = computed(model, data), [computed(model, half) for half in halves]
    for n, each in whole.items():
        torch.testing.assert_close(each, (parts[0][n] + parts[1][n]) / 2)


@pytest.mark.parametrize("chunk", [1, 5, 13])
@pytest.mark.parametrize("name", ["mlp", "norm"])
def test_does_not_depend_on_the_chunks(
    name: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = computed(network(name), examples())
    monkeypatch.setattr(ewc, "_LARGEST_CHUNK", chunk)
    for n, each in computed(network(name), examples()).items():
        torch.testing.assert_close(each, expected[n])


@pytest.mark.parametrize(
    ("name", "closed"),
    [
        ("mlp", {"hidden1.1", "hidden2.0", "output"}),
        ("cnn3", {"output.1"}),
        ("tokens", {"out"}),
        ("twice", {"first", "out"}),
        ("borrowed", set()),
        ("tied", set()),
    ],
)
def test_the_closed_form_serves_layers_that_see_one_vector(name: str, closed: set[str]) -> None:
    layers = ewc._trusted_layers(network(name), functional.cross_entropy, examples())
    assert set(layers) == closed


@pytest.mark.parametrize(("name", "alone"), [("mlp", 1), ("norm", 1), ("branching", 13)])
def test_only_a_model_that_must_is_run_example_by_example(
    name: str, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`alone` examples: the first one is always looked at, to check the closed form."""
    seen, plain = [], ewc._one_by_one

    def spy(model: nn.Module, loss: ewc.Loss, data: Examples) -> dict[str, Tensor]:
        seen.append(len(data))
        return plain(model, loss, data)

    monkeypatch.setattr(ewc, "_one_by_one", spy)
    computed(network(name), examples())
    assert max(seen) == alone


def test_a_model_that_draws_at_random_follows_the_generator() -> None:
    model, before = network("noisy"), torch.get_rng_state()
    first, second, other = (computed(model, examples(), seed) for seed in (0, 0, 5))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first["first.weight"], second["first.weight"])
    assert not torch.equal(first["first.weight"], other["first.weight"])


def test_a_broken_model_says_what_is_wrong_with_it() -> None:
    with pytest.raises(ValueError, match="the hose is off"):
        computed(network("broken"), examples())
