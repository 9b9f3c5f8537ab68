"""The plan: never more than allowed or free, and first to what saves most."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, strategies as st

from probe.errors import InputError
from probe.values.allocation import CacheSettings, allocate

numbers = st.integers(0, 50)
needs = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)), min_size=1)


@given(needs, numbers, numbers)
def test_no_plan_takes_more_than_it_may_and_memory_goes_to_what_saves_most_work_per_byte(
    needs,
    budget,
    room,
):
    sizes = {str(k): size for k, (size, _) in enumerate(needs)}
    work = {str(k): float(own) for k, (_, own) in enumerate(needs)}
    plan = allocate(
        sizes, work, CacheSettings(budget=budget, scratch=Path(), room=room)
    )
    assert [(p.feature, p.size) for p in plan] == list(sizes.items())
    taken = {
        where: sum(p.size for p in plan if p.location == where)
        for where in ("in memory", "memory-mapped")
    }
    assert taken["in memory"] <= budget
    assert taken["memory-mapped"] <= room
    for p in plan:
        if p.location != "in memory":
            assert p.size > budget - taken["in memory"]
        if p.location == "recomputed":
            assert p.size > room - taken["memory-mapped"]
    best = max(range(len(needs)), key=lambda k: needs[k][1] / needs[k][0])
    assert (plan[best].location == "in memory") == (needs[best][0] <= budget)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("budget", -1),
        ("budget", 1.5),
        ("room", "2GB"),
        ("scratch", "/tmp"),
        ("storage", "fp16"),
    ],
)
def test_settings_that_cannot_be_are_refused(name, value):
    with pytest.raises(InputError, match=f"^{name}: "):
        CacheSettings(**{name: value})  # type: ignore[arg-type]


def test_processes_share_memory_and_disk_alike():
    settings = CacheSettings(budget=100, scratch=Path(), room=60)
    share = settings.settled(torch.device("cpu"), processes=4)
    assert (share.budget, share.room) == (25, 15)
