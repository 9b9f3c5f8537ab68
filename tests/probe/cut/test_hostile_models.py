"""Models that could get a wrong answer in silence: each is cut rightly, held, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from probe.cut.split import split
from probe.errors import InputError
from probe.examples import Examples
from probe.modules import mode
from probe.retrain import partial_retrain
from probe.seeding import stream
from probe.training.loop import Recipe

TASKS = [[0, 1], [2]]


class Base(nn.Module):
    """Three layers; `a`'s output is the feature."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))


class SkipsAtRandom(Base):
    """Stochastic depth written into the forward pass that also computes what follows."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and float(torch.rand([])) < 0.3:
            x = torch.zeros_like(x)
        return super().forward(x)


class OtherInTraining(Base):
    """The feature does not run in training mode."""

    def forward(self, x: Tensor) -> Tensor:
        return self.c(torch.relu(self.b(x) if self.training else self.a(x)))


class Drifts(Base):
    """A buffer of the parent, moved in training mode after the feature has read it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("center", torch.zeros(6))

    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x - self.center)
        if self.training:
            self.center.lerp_(x.mean(0), 0.1)
        return y


class ThroughNumpy(nn.Module):
    """The feature depends on `hidden` by a way that torch's functions do not show."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.mark, self.head = nn.Linear(6, 6), nn.Identity(), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.mark(torch.from_numpy(self.hidden(x).detach().numpy().copy())))


class ThroughItem(nn.Module):
    """So here: the scale leaves torch as a Python number."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.mark, self.head = nn.Linear(1, 1), nn.Identity(), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.mark(x * self.scale.weight.item()))


class Auxiliary(Base):
    """A head that the output does not depend on."""

    def __init__(self) -> None:
        super().__init__()
        self.spare = nn.Linear(6, 2)


class Save(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        self.kept = x
        return x


class Add(nn.Module):
    def __init__(self, save: Save) -> None:
        super().__init__()
        self.save = save

    def forward(self, x: Tensor) -> Tensor:
        return x + self.save.kept


def x_and_y(n: int = 60) -> tuple[Tensor, Tensor]:
    draw = stream(0, "hostile")
    return torch.randn(n, 6, generator=draw), torch.arange(n) % 3


def built(build: Callable[[], nn.Module]) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build()


@pytest.mark.parametrize(
    ("build", "feature"),
    [
        (SkipsAtRandom, "a"),
        (OtherInTraining, "a"),
        (Drifts, "a"),
        (ThroughNumpy, "mark"),
        (ThroughItem, "mark"),
    ],
)
def test_a_feature_that_would_not_stay_fixed_is_refused(
    build: Callable[[], nn.Module], feature: str
) -> None:
    with pytest.raises(InputError, match=r"not stay\s+fixed"):
        split(built(build), feature, x_and_y()[0])


def test_the_plain_one_is_not() -> None:
    """The negative control of the test above."""
    assert split(built(Base), "a", x_and_y()[0]).frozen == ("a.bias", "a.weight")


def test_parameters_in_one_storage_are_told_apart() -> None:
    """As `vector_to_parameters` leaves them: all of them views of one vector."""
    model, flat = built(Base), built(Base)
    vector = nn.utils.parameters_to_vector(flat.parameters()).detach().clone()
    nn.utils.vector_to_parameters(vector, flat.parameters())
    x, y = x_and_y()
    assert split(flat, "a", x).frozen == ("a.bias", "a.weight")
    data = Examples(x, y)
    results = [partial_retrain(m, ["a", "b"], data, data, TASKS) for m in (model, flat)]
    assert results[0].counts == results[1].counts


def test_parameters_tied_by_their_data_stay_tied() -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.Linear(6, 3))
    model[2].weight.data = model[0].weight.data
    cut = split(model, "1", x_and_y()[0])
    assert set(cut.frozen) == {"0.weight", "0.bias", "2.weight"}
    assert not cut.tail.get_parameter("model.2.weight").requires_grad


def test_a_module_that_stands_twice_in_a_chain_runs_twice() -> None:
    drop = nn.Dropout(0.5)
    model = nn.Sequential(nn.Linear(6, 6), drop, nn.Linear(6, 6), drop, nn.Linear(6, 3))
    cut = split(model, "0", x_and_y()[0])
    assert cut.cached
    assert sum(isinstance(m, nn.Dropout) for m in cut.tail) == 2


def test_a_skip_behind_the_modules_backs_is_followed() -> None:
    save = Save()
    model = nn.Sequential(nn.Linear(6, 6), save, nn.Linear(6, 6), Add(save), nn.Linear(6, 3))
    x, _ = x_and_y()
    cut = split(model, "2", x)
    value = cut.prefix(x)
    assert isinstance(value, Tensor)
    assert torch.equal(value, model[2](model[0](x)) + model[0](x))
    assert torch.equal(cut.tail(value), model(x))


def test_a_value_that_depends_on_its_neighbours_is_not_cached() -> None:
    norm = nn.BatchNorm1d(6, track_running_stats=False)
    model = nn.Sequential(nn.Linear(6, 6), norm, nn.Linear(6, 3))
    x, _ = x_and_y()
    assert split(model, "0", x).cached
    assert not split(model, "1", x).cached


def test_an_unused_head_is_no_reason_to_train_behind_the_output() -> None:
    model = built(Auxiliary)
    x, y = x_and_y()
    assert not split(model, "c", x).trainable
    result = partial_retrain(model, ["c"], Examples(x, y), Examples(x, y), TASKS)
    predicted = model(x).argmax(1)
    assert result.pra["c"] == pytest.approx(float((predicted == y).double().mean()))


def test_the_users_data_are_not_written_to() -> None:
    model = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3))
    x, y = x_and_y()
    before = x.clone()
    partial_retrain(model, ["0", "2"], Examples(x, y), Examples(x, y), TASKS, Recipe(epochs=1))
    assert torch.equal(x, before)


@pytest.mark.parametrize("chain", [False, True])
def test_what_the_user_had_frozen_is_retrained_all_the_same(chain: bool) -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 3)) if chain else built(Base)
    model.requires_grad_(False)
    cut = split(model, "0" if chain else "a", x_and_y()[0])
    assert all(p.requires_grad for name, p in cut.tail.named_parameters() if "model.a" not in name)
    assert not any(p.requires_grad for p in model.parameters())


def test_a_batch_norm_on_both_sides_is_held() -> None:
    class Shared(Base):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.mark = nn.BatchNorm1d(6), nn.Identity()

        def forward(self, x: Tensor) -> Tensor:
            return self.c(self.norm(self.b(self.mark(self.norm(self.a(x))))))

    cut = split(built(Shared), "mark", x_and_y()[0])
    assert not cut.tail.train().get_submodule("model.norm").training
    assert not cut.tail.get_parameter("model.norm.weight").requires_grad


class Merging(nn.Linear):
    """A layer whose `train` does more than set a flag, as adapters do."""

    merged = False

    def train(self, mode: bool = True) -> Merging:
        self.merged = not mode
        super().train(mode)
        return self


def test_a_models_own_train_is_called_both_ways() -> None:
    model = nn.Sequential(Merging(6, 3))
    with mode(model, training=False):
        assert model[0].merged
    assert not model[0].merged


def test_a_caller_without_gradients_gets_the_same() -> None:
    x, y = x_and_y()
    data = Examples(x, y)
    with torch.no_grad():
        inside = partial_retrain(built(Base), ["a"], data, data, TASKS, Recipe(epochs=1))
    outside = partial_retrain(built(Base), ["a"], data, data, TASKS, Recipe(epochs=1))
    assert inside.counts == outside.counts


def test_a_layer_with_two_names_is_known_by_both() -> None:
    model = built(Base)
    model.add_module("alias", model.a)
    x, _ = x_and_y()
    assert set(split(model, "alias", x).frozen) == set(split(model, "a", x).frozen)


def test_arrays_are_not_taken_for_tensors() -> None:
    x, y = x_and_y()
    with pytest.raises(InputError, match=r"must be tensors, got .*'ndarray'"):
        Examples(x, y.numpy())  # type: ignore[arg-type]


class Watched(nn.Linear):
    """Notes in which mode each batch was seen."""

    seen: ClassVar[list[tuple[int, bool]]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append((len(x), self.training))
        return super().forward(x)


def test_the_tail_is_trained_in_train_mode_and_evaluated_in_eval_mode() -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), Watched(6, 3))
    x, y = x_and_y(123 + 70)
    train, test = Examples(x[:123], y[:123]), Examples(x[123:], y[123:])
    partial_retrain(model, ["1"], train, test, TASKS, Recipe(epochs=1, batch_size=41))
    Watched.seen.clear()
    partial_retrain(model.train(), ["1"], train, test, TASKS, Recipe(epochs=1, batch_size=41))
    assert Watched.seen.count((41, True)) == 3
    # Up to 64 examples serve to check the cut.
    assert {training for n, training in Watched.seen if n > 64} == {False}
