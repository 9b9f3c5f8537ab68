"""GeppNet+STM's memory and its sleep; whole sessions are compared in `test_geppnet`."""

from __future__ import annotations

from collections import deque

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from probe.examples import Examples
from probe.training.costs import OpsMeter
from scenarios.learners.kemker.geppnet_stm import GeppnetStm, GeppnetStmSettings, ShortTermMemory
from scenarios.learners.kemker.online_map import OnlineMap
from tests.scenarios.learners.kemker.test_geppnet import TINY, incremental, make
from tests.scenarios.learners.tiny_learners import learn


class Recording(OnlineMap):
    """Writes down what it is given to learn, what it was asked about, and its weights then."""

    def __init__(self, own: GeppnetStm) -> None:
        som, output = own.model.children()
        super().__init__(som, output, 0.03, OpsMeter())
        self.own = own
        self.replayed: list[tuple[list[float], int]] = []
        self.sleeps: list[int] = []
        self.awake: list[Tensor] = []

    def learn(
        self, x: Tensor, y: Tensor, shares: Tensor, threshold: float | None = None
    ) -> list[int]:
        assert threshold is None
        self.replayed += list(zip(x.tolist(), y.tolist(), strict=True))
        return super().learn(x, y, shares)

    def margins(self, x: Tensor, y: Tensor) -> Tensor:
        self.awake.append(self.own.model.state_dict()["som.prototypes"].clone())
        self.sleeps.append(len(self.replayed))
        return super().margins(x, y)


def stm(**changes: float) -> GeppnetStm:
    settings = GeppnetStmSettings.model_validate(
        {**TINY, "memory": 30, "sleep_interval": 40, **changes}
    )
    return make("geppnet_stm", settings)


@given(
    size=st.integers(1, 5),
    values=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=20),
)
def test_the_memory_is_a_queue_of_fixed_size(size: int, values: list[tuple[int, int]]) -> None:
    memory, plain = ShortTermMemory(size, torch.zeros(1, 2)), deque[tuple[int, int]](maxlen=size)
    for value, label in values:
        memory.put(torch.tensor([value, 1.5]), label)
        plain.append((value, label))
        assert len(memory) == len(plain) <= size
        held = memory.examples
        assert list(zip(held.x[:, 0].tolist(), held.y.tolist(), strict=True)) == list(plain)
        for other in range(4):
            latest = [c for x, c in plain if x == other]
            assert memory.recall(torch.tensor([other, 1.5])) == (latest[-1] if latest else None)
            assert memory.recall(torch.tensor([1.5, other])) is None
    memory.empty()
    assert (len(memory), len(memory.examples)) == (0, 0)
    assert memory.recall(torch.tensor([0.0, 1.5])) is None


def test_a_sleep_replays_what_is_held_once_and_nothing_else_changes_the_map() -> None:
    tasks, own = incremental(60)[:2], stm()
    own.learn(tasks[0])
    network = Recording(own)
    own.later_session(network, tasks[1].train)
    # 150 iterations: sleeps after 40, 80, 120 and 150.
    assert len(network.awake) == 4
    assert 0 < len(network.replayed) <= 4 * 30
    held = own.memory.examples
    last = network.replayed[-len(held) :]
    assert last == list(zip(held.x.tolist(), held.y.tolist(), strict=True))
    before, after = network.awake[0], network.awake[1]
    assert not torch.equal(before, after)
    assert network.sleeps[0] == 0 < network.sleeps[1] <= 30


def test_an_example_that_is_held_is_not_stored_again() -> None:
    tasks, own = incremental(60)[:2], stm(memory=500, threshold=1.0)
    own.learn(tasks[0])
    own.later_session(Recording(own), tasks[1].train.take(torch.arange(5)))
    held = [tuple(x) for x in own.memory.examples.x.tolist()]
    assert len(held) == len(set(held)) > 5


def test_an_input_that_is_held_with_another_label_is_stored_with_its_own() -> None:
    tasks, own = incremental(60)[:1], stm(memory=500, threshold=1.0)
    own.learn(tasks[0])
    own.restore({}, [])
    twice = tasks[0].train.x[:1].repeat(2, 1, 1, 1)
    own.later_session(Recording(own), Examples(twice, torch.tensor([5, 6])))
    assert set(own.memory.examples.y.tolist()) == {5, 6}


def test_the_memory_answers_for_what_it_holds_until_the_session_ends() -> None:
    tasks, own = incremental(60)[:2], stm()
    own.learn(tasks[0])
    x = tasks[0].test.x[:6]
    with torch.no_grad():
        plain = own.model(x)
        assert torch.equal(own.scores(x), plain)
        own.memory.put(x[2].flatten(), 7)
        scores = own.scores(x)
    assert scores[2].tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]
    others = [0, 1, 3, 4, 5]
    assert torch.equal(scores[others], plain[others])
    with torch.no_grad():
        assert torch.equal(own.scores(x[others]), plain[others])
    learn(own, tasks[1:])
    assert len(own.memory) == 0
    with torch.no_grad():
        assert torch.equal(own.scores(x), own.model(x))


@pytest.mark.parametrize(("dims", "megabytes"), [(784, 0.94), (2048, 2.46), (1280, 1.54)])
def test_its_size_is_what_table_2_has_above_geppnet(dims: int, megabytes: float) -> None:
    held = ShortTermMemory(GeppnetStmSettings().memory, torch.zeros(1, dims)).bytes
    assert (held - 300 * 8) / 1e6 == pytest.approx(megabytes, abs=0.005)
