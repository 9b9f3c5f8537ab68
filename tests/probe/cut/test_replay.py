"""The model's own forward runs behind the feature, and nothing that is frozen is computed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from probe.cut import split as splitting
from probe.cut.split import Split, split, split_each, values_of
from probe.errors import InputError
from probe.seeding import stream
from scenarios.networks import build_network


def rows(n: int, *shape: int) -> Tensor:
    return torch.randn(n, *shape, generator=stream(0, "replay", n))


def built(build: Callable[[], nn.Module]) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build()


def flops(part: Callable[[Tensor], Tensor], x: object) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        part(x)  # type: ignore[arg-type]
    return int(counter.get_total_flops())


def is_model(cut: Split, model: nn.Module, x: Tensor) -> bool:
    with torch.no_grad():
        return torch.equal(cut.tail.eval()(cut.prefix(x)), model.eval()(x))


@pytest.mark.parametrize("feature", ["stem", "layer1.0.conv1", "layer2.0.skip", "layer3", "layer4"])
def test_the_tail_computes_what_is_behind_and_no_more(
    feature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mul-adds of the prefix and of the tail sum to those of the model, for a replayed tail too."""
    monkeypatch.setattr(splitting, "chain_tail", lambda *a: None)
    model, x = build_network("reduced_resnet18", (3, 32, 32), 4).eval(), rows(4, 3, 32, 32)
    cut = split(model, feature, x)
    behind = flops(cut.tail.eval(), cut.prefix(x))
    frozen = [name.removesuffix(".weight") for name in cut.frozen if name.endswith("weight")]
    before = sum(flops_of_module(model, name, x) for name in frozen)
    assert before > 0
    assert behind + before == flops(model, x)


def flops_of_module(model: nn.Module, name: str, x: Tensor) -> int:
    inputs: list[Tensor] = []
    module = model.get_submodule(name)
    hook = module.register_forward_pre_hook(lambda m, args: inputs.append(args[0]))
    model(x)
    hook.remove()
    return flops(module, inputs[0])


def test_a_replayed_tail_trains_as_the_links_of_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    x = rows(8, 1, 28, 28)
    losses = []
    for plain in (True, False):
        if not plain:
            monkeypatch.setattr(splitting, "chain_tail", lambda *a: None)
        cut = split(built(lambda: build_network("cnn3", (1, 28, 28), 4)), "conv1", x)
        assert isinstance(cut.tail, nn.Sequential) == plain
        optimizer = torch.optim.SGD([p for p in cut.tail.parameters() if p.requires_grad], lr=0.1)
        for _ in range(5):
            loss = functional.cross_entropy(cut.tail.train()(cut.prefix(x)), torch.arange(8) % 4)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    assert losses[:5] == losses[5:]


class LayerDrop(nn.Module):
    """Skips layers by chance, behind the feature, as a Python `if`."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(6, 6) for _ in range(3))
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        skip = torch.tanh(x)
        x = torch.relu(self.first(x))
        for layer in (self.second, self.third):
            if not self.training or float(torch.rand(())) < 0.5:
                x = x + torch.relu(layer(x)) + skip
        return self.head(x)


def test_chance_in_the_tail_takes_all_its_paths() -> None:
    model, x = built(LayerDrop).eval(), rows(8, 6)
    cut = split(model, "first", x)
    assert cut.cached
    assert is_model(cut, model, rows(5, 6))
    kept = cut.prefix(x)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        seen = {float(cut.tail.train()(kept).detach().sum()) for _ in range(40)}
    assert len(seen) == 4


class ByShape(nn.Module):
    """Another path for larger batches, and for larger images."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.mark, self.head = (
            nn.Conv2d(1, 2, 3, padding=1),
            nn.Identity(),
            nn.Linear(2, 3),
        )

    def forward(self, x: Tensor) -> Tensor:
        b, _, h, w = x.shape
        x = self.mark(torch.relu(self.conv(x)))
        x = x.view(b, 2, h * w)
        if b > 6:
            x = x * 2
        return self.head(x.mean(2) if h > 4 else x.amax(2))


@pytest.mark.parametrize("side", [4, 8])
def test_control_flow_that_follows_the_shape_follows_it(side: int) -> None:
    model = built(ByShape).eval()
    cut = split(model, "mark", rows(12, 1, side, side))
    assert cut.cached
    assert all(is_model(cut, model, rows(n, 1, side, side)) for n in (1, 5, 9, 30))


class Sequence(nn.Module):
    """Time first: the examples lie along the second dimension between the layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LSTM(3, 4), nn.GRU(4, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x, (h, _) = self.first(x.transpose(0, 1))
        x, _ = self.second(x, h)
        return self.head(x[-1])


def test_the_examples_may_lie_along_any_dimension() -> None:
    model, x = built(Sequence).eval(), rows(6, 5, 3)
    cut = split(model, "first", x)
    assert cut.cached
    value = cut.prefix(x)
    assert isinstance(value, tuple)
    assert {tuple(part.shape) for part in value} == {(6, 5, 4), (6, 1, 4)}
    assert is_model(cut, model, rows(9, 5, 3))


class SharedDropout(nn.Module):
    """One dropout module on both sides of the cut."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.drop(self.second(self.drop(self.first(x)))))


def test_one_dropout_on_both_sides_is_off_before_and_live_behind() -> None:
    model, x = built(SharedDropout).eval(), rows(8, 6)
    cut = split(model, "second", x)
    assert torch.equal(cut.prefix(x), model.second(model.first(x)))
    first, again = (cut.tail.train()(cut.prefix(x)) for _ in range(2))
    assert not torch.equal(first, again)
    assert is_model(cut, model, x)


def test_the_input_is_kept_as_it_is() -> None:
    """What is trained reads the input only: it is not copied."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(6, 4), nn.Linear(4, 3))
    x = rows(6, 2, 3)
    value = split(model, "0", x).prefix(x)
    assert isinstance(value, Tensor)
    assert value.data_ptr() == x.data_ptr()


def test_one_pass_gives_what_each_prefix_gives() -> None:
    model, x = build_network("reduced_resnet18", (3, 32, 32), 4).eval(), rows(5, 3, 32, 32)
    features = ["stem", "layer1.0.bn1", "layer2", "layer3.1.conv2", "output"]
    cuts = split_each(model, features, x)
    runs = []
    hook = (
        cuts[0].prefix.get_submodule("model").register_forward_pre_hook(lambda *_: runs.append(1))
    )
    together = values_of(cuts, x)
    assert len(runs) == 1
    hook.remove()
    for cut in cuts:
        alone, same = cut.prefix(x), together[cut.feature]
        pairs = [(alone, same)] if isinstance(alone, Tensor) else zip(alone, same, strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)


class Gate(nn.Module):
    """What is done to a frozen value is decided by a number that training moves."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gate, self.head = nn.Linear(6, 6), nn.Linear(6, 1), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x))
        opens = float(self.gate(x).detach().mean()) > 0
        return self.head(x.square().cumsum(1) if opens else x.exp())


def test_a_number_from_the_tail_may_change_what_is_done_to_frozen_values() -> None:
    model, x = built(Gate).eval(), rows(8, 6)
    cut = split(model, "first", x)
    assert cut.cached
    kept = cut.prefix(x)
    for bias in (-9.0, 9.0):
        for part in (model, cut.tail.get_submodule("model")):
            part.get_parameter("gate.bias").data.fill_(bias)
        with torch.no_grad():
            assert torch.equal(cut.tail.eval()(kept), model(x))


class TakesAnotherPath(nn.Module):
    """After some time, reads what it never read before."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.late = False

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first(x))
        z = self.second(y)
        return self.head(z + y if self.late else z)


def test_a_tail_that_needs_what_is_not_kept_says_so() -> None:
    x = rows(6, 6)
    cut = split(TakesAnotherPath(), "second", x)
    cut.tail.get_submodule("model").late = True  # type: ignore[assignment]
    with pytest.raises(InputError, match="takes another path"):
        cut.tail(cut.prefix(x))


def test_a_parameter_that_is_not_the_models_own_is_refused() -> None:
    hidden = [nn.Linear(6, 6)]

    class Hides(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(torch.relu(hidden[0](x)))

    with pytest.raises(InputError, match="register the module"):
        split(Hides(), "head", rows(6, 6))


@pytest.mark.parametrize("output", ["logits", 0])
def test_the_logits_are_found_where_they_are_said_to_be(output: str | int) -> None:
    class Returns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(6, 6), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> object:
            hidden = torch.relu(self.first(x))
            logits = self.head(hidden)
            return {"logits": logits, "hidden": hidden} if output else (logits, hidden)

    model, x = Returns(), rows(6, 6)
    cut = split(model, "first", x, output=output)
    with torch.no_grad():
        assert torch.equal(cut.tail.eval()(cut.prefix(x)), model(x)[output])  # type: ignore[index]
    with pytest.raises(InputError, match="name the logits with output="):
        split(model, "first", x)
