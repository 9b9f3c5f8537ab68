"""What can be said of a lock's holder by looking again and again: renewed, taken over, stale."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios.execution.claims import Watch
from scenarios.execution.lock_file import unknown

from scenarios.execution import claims as module

LEASE = 8

# How long after the one before, whether the lock was taken over since, and its beat.
looks = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 1)), min_size=1)


def is_stale(run: list[tuple[int, int, int]]) -> bool:
    """Whether the last look of a run, each (time, number, beat), has been the same for a lease."""
    same = len(run) - 1
    while same and run[same - 1][1:] == run[-1][1:]:
        same -= 1
    quiet = [min(after[0] - before[0], LEASE // 4) for before, after in pairwise(run[same:])]
    return sum(quiet) >= LEASE


def is_renewed(run: list[tuple[int, int, int]]) -> bool:
    """Whether the last holder was seen with more than one beat."""
    return len({beat for _, number, beat in run if number == run[-1][1]}) > 1


@given(looks)
def test_every_look_says_what_all_looks_together_say(looks: list[tuple[int, bool, int]]) -> None:
    run, watch = [(0, 1, 0)], Watch(LEASE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "time", SimpleNamespace(monotonic=lambda: run[-1][0]))
        assert not watch.stale(unknown("it", 1))
        for pause, overtaken, beat in looks:
            time, number, _ = run[-1]
            run.append((time + pause, number + overtaken, beat))
            assert watch.stale(replace(unknown("it", run[-1][1]), beat=beat)) == is_stale(run)
            assert watch.renewed("it") == is_renewed(run)
            assert not watch.renewed("another")


@pytest.mark.parametrize("pauses", [[2] * 4, [1] * 8, [7] * 4, [3, 1, 2, 9, 2]])
def test_after_a_lease_it_is_stale(pauses: list[int]) -> None:
    """Four looks, a quarter of a lease apart or more; and not before."""
    clock, watch = [0], Watch(LEASE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        said = [watch.stale(unknown("it", 1))]
        for pause in pauses:
            clock[0] += pause
            said.append(watch.stale(unknown("it", 1)))
    assert said == [False] * len(pauses) + [True]


def test_a_takeover_is_no_renewal() -> None:
    watch, lock = Watch(LEASE), unknown("it", 1)
    seen = []
    for number, beat in [(1, 0), (1, 1), (1, 1), (2, 1), (2, 1), (3, 2), (3, 3)]:
        watch.stale(replace(lock, number=number, beat=beat))
        seen.append(watch.renewed("it"))
    assert seen == [False, True, True, False, False, False, True]
