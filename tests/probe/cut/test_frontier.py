"""What is kept of a frozen part is the cheapest that would do."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from probe.cut.min_cut import Fate, frontier
from probe.cut.names import INPUT, Name
from probe.cut.split import split
from probe.cut.trace import Pass, Step
from probe.seeding import stream

STATE = 1000


@st.composite
def passes(draw: st.DrawFn) -> tuple[Pass, frozenset[int], dict[Name, int]]:
    """A frozen part of up to seven calls, some on parameters, and trained calls that read it."""
    steps: dict[int, Step] = {}
    frozen = draw(st.integers(1, 7))
    for number in range(frozen):
        known = [INPUT, *((earlier, 0) for earlier in range(number))]
        parents = draw(st.lists(st.sampled_from(known), min_size=1, max_size=2))
        if draw(st.booleans()):
            parents.append((STATE, 0))
        steps[number] = Step("call", tuple(parents), ((number, 0),))
    readable = [INPUT, *((number, 0) for number in range(frozen))]
    for number in range(frozen, frozen + draw(st.integers(1, 3))):
        read = (draw(st.sampled_from(readable)), (STATE + 1, 0))
        steps[number] = Step("trained", read, ((number, 0),))
    costs = {name: draw(st.integers(1, 9)) for name in readable}
    return Pass(steps, (), (number, 0), {}), frozenset({STATE, *range(frozen)}), costs


@settings(max_examples=300)
@given(passes())
def test_the_cut_is_the_cheapest_of_all_that_would_do(case) -> None:  # type: ignore[no-untyped-def]
    """Brute force over all sets of values."""
    seen, upstream, costs = case
    found = frontier(seen, upstream, {STATE, STATE + 1}, costs, ())
    assert found is not None
    enough = [kept for kept in _subsets(costs) if _suffices(seen, set(kept), upstream)]
    assert _suffices(seen, set(found.names), upstream)
    assert sum(costs[name] for name in found.names) == min(
        sum(costs[name] for name in kept) for kept in enough
    )


@settings(max_examples=300)
@given(passes())
def test_what_is_run_again_has_what_it_needs(case) -> None:  # type: ignore[no-untyped-def]
    seen, upstream, costs = case
    found = frontier(seen, upstream, {STATE, STATE + 1}, costs, ())
    assert found is not None
    there = set(found.names)
    for number, step in seen.steps.items():
        if number in upstream:
            assert (found.fates[number] is Fate.SERVE) == ((number, 0) in found.names)
            if found.fates[number] is Fate.RUN:
                assert set(step.parents) <= there
                there.add((number, 0))
        else:
            assert step.parents[0] in there


def _subsets(costs: dict[Name, int]) -> chain[tuple[Name, ...]]:
    return chain.from_iterable(combinations(costs, size) for size in range(len(costs) + 1))


def _suffices(seen: Pass, kept: set[Name], upstream: frozenset[int]) -> bool:
    """Whether all that is read can be computed from what is kept, without parameters."""
    there = set(kept)
    for number, step in seen.steps.items():
        if number in upstream and set(step.parents) <= there:
            there.add((number, 0))
    read = {step.parents[0] for number, step in seen.steps.items() if number not in upstream}
    return read <= there


class Resizes(nn.Module):
    """A feature, then a step without parameters that makes it smaller or larger."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.conv, self.mark, self.head = nn.Conv2d(3, 4, 3), nn.Identity(), nn.LazyLinear(3)
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        x = self.mark(functional.interpolate(torch.relu(self.conv(x)), scale_factor=self.scale))
        return self.head(functional.max_pool2d(x, 2).flatten(1))


@pytest.mark.parametrize(("scale", "kept"), [(1.0, (4, 3, 3)), (0.5, (4, 1, 1)), (8.0, (4, 6, 6))])
def test_a_value_is_kept_on_its_cheaper_side(scale: float, kept: tuple[int, ...]) -> None:
    x = torch.randn(6, 3, 8, 8, generator=stream(0))
    model = Resizes(scale)
    model(x)
    cut = split(model, "mark", x)
    value = cut.prefix(x)
    assert isinstance(value, Tensor)
    assert value.shape[1:] == kept
    with torch.no_grad():
        assert torch.equal(cut.tail.eval()(value), model(x))


def test_what_crosses_beside_the_feature_is_kept_with_it() -> None:
    class Skips(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.head = nn.Linear(6, 5), nn.Linear(5, 7), nn.Linear(12, 3)

        def forward(self, x: Tensor) -> Tensor:
            first = self.first(x)
            return self.head(torch.cat([self.second(first), first], 1))

    x = torch.randn(6, 6, generator=stream(0))
    value = split(Skips(), "second", x).prefix(x)
    assert isinstance(value, Tensor)
    assert value.shape == (6, 12)  # nothing trained stands between the two and their join
