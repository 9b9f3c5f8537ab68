"""The diagonal empirical Fisher against a plain loop, on networks that make it hard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.examples import Examples
from scenarios.learners.penalties import fisher
from scenarios.learners.penalties.ewc import diagonal_fisher
from scenarios.networks import ARCHITECTURES

K = 3


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


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: ARCHITECTURES["mlp"].build((1, 8, 8), K),
    "cnn3": lambda: ARCHITECTURES["cnn3"].build((1, 8, 8), K),
    "norm": with_norm,
    "tokens": Tokens,
    "twice": Twice,
    "borrowed": Borrowed,
    "tied": Tied,
    "branching": Branching,
    "counting": Counting,
}


def network(name: str) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return NETWORKS[name]().double()


def examples(n: int = 13) -> Examples:
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(n, 1, 8, 8, generator=draw, dtype=torch.float64)
    return Examples(x, torch.randint(K, (n,), generator=draw))


def computed(model: nn.Module, data: Examples) -> dict[str, Tensor]:
    return diagonal_fisher(model, functional.cross_entropy, data, torch.Generator().manual_seed(0))


def by_loop(model: nn.Module, data: Examples) -> dict[str, Tensor]:
    """One example after the other, by `backward`."""
    model.eval()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    total = {n: torch.zeros_like(p) for n, p in trained.items()}
    for k in range(len(data)):
        model.zero_grad()
        log_p = functional.log_softmax(model(data.x[k : k + 1]), 1)[0, data.y[k]]
        log_p.backward()
        for n, p in trained.items():
            total[n] += 0 if p.grad is None else p.grad**2 / len(data)
    return total


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_is_the_mean_of_squared_gradients_of_single_examples(name: str) -> None:
    got, expected = computed(network(name), examples()), by_loop(network(name), examples())
    assert got.keys() == expected.keys()
    for n, each in expected.items():
        assert each.any()
        torch.testing.assert_close(got[n], each, rtol=1e-9, atol=1e-15)


def test_is_not_the_square_of_the_mean_gradient() -> None:
    """The negative control: that one is smaller, as a mean's square is."""
    model, data = network("mlp"), examples(64)
    fine = computed(model, data)
    model.zero_grad()
    functional.cross_entropy(model(data.x), data.y).backward()
    coarse = {n: p.grad**2 for n, p in model.named_parameters() if p.grad is not None}
    assert all((fine[n] >= coarse[n] * (1 - 1e-9)).all() for n in fine)
    assert float(sum(each.sum() for each in fine.values())) > 10 * float(
        sum(each.sum() for each in coarse.values())
    )


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
    monkeypatch.setattr(fisher, "_LARGEST_CHUNK", chunk)
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
    layers = fisher._trusted_layers(network(name), functional.cross_entropy, examples())
    assert set(layers) == closed


@pytest.mark.parametrize(("name", "alone"), [("mlp", 1), ("norm", 1), ("branching", 13)])
def test_only_a_model_that_must_is_run_example_by_example(
    name: str, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`alone` examples: the first one is always looked at, to check the closed form."""
    seen = []
    plain = fisher._one_by_one

    def spy(model: nn.Module, loss: fisher.Loss, data: Examples) -> dict[str, Tensor]:
        seen.append(len(data))
        return plain(model, loss, data)

    monkeypatch.setattr(fisher, "_one_by_one", spy)
    computed(network(name), examples())
    assert max(seen) == alone


def test_a_model_that_draws_at_random_follows_the_generator() -> None:
    class Noisy(Twice):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(functional.dropout(x, 0.5, training=True))

    model = Noisy().double()
    before = torch.get_rng_state()
    first, second = computed(model, examples()), computed(model, examples())
    other = diagonal_fisher(
        model, functional.cross_entropy, examples(), torch.Generator().manual_seed(5)
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first["first.weight"], second["first.weight"])
    assert not torch.equal(first["first.weight"], other["first.weight"])


def test_a_broken_model_says_what_is_wrong_with_it() -> None:
    class Broken(Twice):
        def forward(self, x: Tensor) -> Tensor:
            raise ValueError("the hose is off")

    with pytest.raises(ValueError, match="the hose is off"):
        computed(Broken(), examples())
