"""What is kept of a frozen part is the cheapest that would do."""

from itertools import chain, combinations

from hypothesis import given, settings, strategies as st

from probe.cut.min_cut import minimum_cut
from probe.cut.names import INPUT
from probe.cut.trace import Pass, Step

STATE = 1000


@st.composite
def passes(draw):
    """A frozen part of up to seven calls, some on parameters, and trained calls that read it."""
    steps = {}
    frozen = draw(st.integers(1, 7))
    for number in range(frozen):
        known = [INPUT, *((earlier, 0) for earlier in range(number))]
        parents = draw(
            st.lists(
                st.sampled_from(known),
                min_size=1,
                max_size=2,
            )
        )
        if draw(st.booleans()):
            parents.append((STATE, 0))
        steps[number] = Step("call", tuple(parents), ((number, 0),))
    readable = [INPUT, *((number, 0) for number in range(frozen))]
    for number in range(frozen, frozen + draw(st.integers(1, 3))):
        read = (draw(st.sampled_from(readable)), (STATE + 1, 0))
        steps[number] = Step("trained", read, ((number, 0),))
    costs = {name: draw(st.integers(1, 9)) for name in readable}
    return (
        Pass(
            steps,
            [],
            (number, 0),
            {},
        ),
        frozenset({STATE, *range(frozen)}),
        costs,
    )


@settings(max_examples=300)
@given(passes())
def test_the_cut_is_the_cheapest_of_all_that_would_do(case):  # type: ignore[no-untyped-def]
    """Brute force over all sets of values; and what is run again has what it needs."""
    seen, upstream, costs = case
    found, again = minimum_cut(
        seen,
        upstream,
        {STATE, STATE + 1},
        costs,
        set(),
    ) or (
        (),
        {},
    )
    subsets = chain.from_iterable(combinations(costs, n) for n in range(len(costs) + 1))
    enough = [kept for kept in subsets if _suffices(seen, set(kept), upstream)]
    assert _suffices(seen, set(found), upstream)
    assert sum(costs[name] for name in found) == min(
        sum(costs[name] for name in kept) for kept in enough
    )
    there = set(found)
    for number, step in seen.steps.items():
        if number in upstream:
            if again[number]:
                assert (number, 0) not in found
                assert set(step.parents) <= there
                there.add((number, 0))
        else:
            assert step.parents[0] in there


def _suffices(seen, kept, upstream):
    """Whether all that is read can be computed from what is kept, without parameters."""
    there = set(kept)
    for number, step in seen.steps.items():
        if number in upstream and set(step.parents) <= there:
            there.add((number, 0))
    read = {
        step.parents[0] for number, step in seen.steps.items() if number not in upstream
    }
    return read <= there
