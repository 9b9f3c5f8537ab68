"""GeppNet and GeppNet+STM: sessions against a plain loop, the memory's law, published sizes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from probe.errors import InputError
from probe.examples import Examples, join
from probe.modules import mode
from probe.seeding import stream
from probe.tasks import Task
from probe.training.costs import OpsMeter
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.data.datasets import load
from scenarios.learners.kemker.geppnet import Geppnet, GeppnetSettings, MapSettings
from scenarios.learners.kemker.geppnet_stm import GeppnetStm, GeppnetStmSettings, ShortTermMemory
from scenarios.learners.kemker.online_map import OnlineMap
from tests.laws.counting import evaluate
from tests.laws.plain_map import sessions
from tests.scenarios.learners.tiny_learners import learn, learner, rows

TINY: dict[str, Any] = {
    "rows": 4,
    "columns": 6,
    "base_iterations": 400,
    "iterations": 150,
    "readout_rate": 0.03,
    "final_som_rate": 0.02,
}
KINDS: dict[str, tuple[type[Geppnet], MapSettings]] = {
    "geppnet": (Geppnet, GeppnetSettings(**TINY)),
    "geppnet_stm": (GeppnetStm, GeppnetStmSettings(**TINY, memory=30, sleep_interval=40)),
}


def make(kind: str, dtype: torch.dtype = torch.float32, **changes: Any) -> Any:
    """Return a learner of 8 x 8 images with a fresh network, always the same."""
    of, tiny = KINDS[kind]
    settings = type(tiny).model_validate({**tiny.model_dump(), **changes})
    model = of.network(settings, (1, 8, 8), 10, 6)
    initialize(model, "murata", stream(0, "init"))
    return of(model.to(dtype), Recipe(epochs=2, batch_size=16), settings, 0)


def incremental(limit: int | None = None, dtype: torch.dtype = torch.float32) -> Sequence[Task]:
    """Return the digits: five classes first, then one by one."""
    data, tasks = load("digits"), []
    for k, classes in enumerate([(0, 1, 2, 3, 4), *((c,) for c in range(5, 10))]):
        own, test = data.train.of_classes(classes), data.test.of_classes(classes)
        train = Examples(own.x[:limit].to(dtype), own.y[:limit])
        tasks.append(Task(index=k + 1, name=str(k), classes=classes, train=train, test=test))
    return tasks


def accuracy(own: Any, tasks: Sequence[Task]) -> float:
    with mode(own.model, training=False):
        return evaluate(own.logits, join([t.test for t in tasks]), 10).accuracy(range(10))


@pytest.mark.parametrize("kind", KINDS)
def test_sessions_equal_a_plain_loop(kind: str) -> None:
    tasks, own = incremental(60, torch.float64)[:3], make(kind, torch.float64)
    plain = sessions(own.model, own.settings, tasks)
    state = learn(own, tasks).model.state_dict()
    assert state["som.prototypes"].numpy() == pytest.approx(plain.prototypes, abs=1e-9)
    assert state["output.weight"].numpy() == pytest.approx(plain.weight, abs=1e-9)
    assert state["output.bias"].numpy() == pytest.approx(plain.bias, abs=1e-9)


@pytest.mark.parametrize("first_rate", [0.01, 0.95])
@pytest.mark.parametrize("kind", KINDS)
def test_sessions_at_large_rates_equal_a_plain_loop(kind: str, first_rate: float) -> None:
    """All prototypes move by .95 of the way: in float32 30 such steps of one block lose them."""
    changes = {"som_rate": first_rate, "final_som_rate": 0.95, "final_radius": 1e3}
    if kind == "geppnet_stm":
        changes |= {"sleep_interval": 150, "memory": 60}
    tasks, own = incremental(60)[:2], make(kind, **changes)
    plain = sessions(own.model, own.settings, tasks)
    prototypes = learn(own, tasks).model.state_dict()["som.prototypes"]
    assert prototypes.numpy() == pytest.approx(plain.prototypes, abs=1e-3)


def test_old_and_new_examples_are_drawn_alike() -> None:
    tasks, own = incremental(50), make("geppnet")
    own.restore({}, tasks[:2])
    sizes = [len(task.train) for task in tasks[:3]]
    names = [task.train.x.flatten(1) for task in tasks[:3]]
    counts = [0, 0, 0]
    known = join([task.train for task in tasks])
    pairs = dict(zip(rows(known.x), known.y.tolist(), strict=True))
    for xs, ys in own.draws(tasks[2].train, 6000, 128):
        assert [pairs[x] for x in rows(xs)] == ys.tolist()
        for k, name in enumerate(names):
            counts[k] += int((torch.cdist(xs, name) == 0).any(1).sum())
    expected = torch.tensor([6000 * size / sum(sizes) for size in sizes])
    chi = ((torch.tensor(counts) - expected) ** 2 / expected).sum()
    assert sum(counts) == 6000
    assert chi < 13.8  # of 2 degrees of freedom: passed by chance in 999 of 1,000


@pytest.mark.parametrize("kind", KINDS)
def test_it_stores_everything(kind: str) -> None:
    own, stored = make(kind), 0
    assert own.stored_bytes() == 0
    memory = 30 * (64 * 4 + 8) if kind == "geppnet_stm" else 0
    for task in incremental(30)[:3]:
        cost = own.learn(task)
        assert cost.stored_bytes == stored
        stored += len(task.train) * (64 * 4 + 8) + memory
        memory = 0
        assert own.stored_bytes() == stored
        assert cost.kept_bytes == own.stored_bytes() + (24 * 64 + 10 * 24 + 10) * 4


def test_the_sizes_are_table_2_s() -> None:
    """Of 60,000 and 28,779 training examples; labels of 4 bytes give the printed sizes."""
    for dims, classes, examples, printed, more in (
        (784, 10, 60_000, 190.08, 0.94),
        (1280, 100, 28_779, 150.38, 1.54),
    ):
        model = Geppnet.network(GeppnetSettings(), (dims,), classes, 2)
        weights = sum(p.numel() for p in model.parameters()) - classes  # no biases
        assert 4 * (weights + examples * (dims + 1)) / 1e6 == pytest.approx(printed, abs=0.011)
        held = ShortTermMemory(GeppnetStmSettings().memory, torch.zeros(1, dims)).bytes
        assert (held - 300 * 8) / 1e6 == pytest.approx(more, abs=0.005)


def test_what_is_spent_is_the_formula_s() -> None:
    tasks, own = incremental(60)[:2], make("geppnet")
    dims, units, classes = 64, 24, 10
    base = own.learn(tasks[0]).ops
    assert base == 2 * 400 * units * dims + 2 * 300 * units * classes
    later = own.learn(tasks[1]).ops
    novel, rest = divmod(later - 150 * units * (dims + classes), units * (dims + classes))
    assert (rest, 0 < novel < 150) == (0, True)


@pytest.mark.parametrize("kind", KINDS)
def test_it_keeps_the_base_and_learns_where_fine_tuning_forgets(kind: str) -> None:
    tasks = incremental()
    changes = {"rows": 12, "columns": 12, "readout_rate": 0.01, "final_som_rate": 0.01}
    changes |= {"base_iterations": 5000, "iterations": 1200}
    if kind == "geppnet_stm":
        changes |= {"sleep_interval": 200, "memory": 300}
    own = make(kind, **changes)
    learn(own, tasks)
    plain = learn(learner("finetune", recipe=Recipe(epochs=5, batch_size=16)), tasks)
    assert accuracy(plain, tasks[:1]) < 0.3
    assert accuracy(own, tasks[:1]) > 0.85
    assert accuracy(own, tasks) > 0.8


@pytest.mark.parametrize(
    ("change", "scale", "said"),
    [
        ({"readout_rate": 50.0, "base_iterations": 3000}, 1, r"read-?out's .* readout_rate \(50\)"),
        ({"width": 1e-30}, 1, r"weights are not finite; .*raise width \(1e-30\)"),
        ({"final_radius": 1e-30}, 1, r"prototypes are not finite; raise final_radius \(1e-30\) or"),
        ({}, 1e30, "not finite; .* or scale the inputs down"),
    ],
)
def test_diverged_training_is_refused_with_what_can_be_changed(
    change: dict[str, float], scale: float, said: str
) -> None:
    first = incremental(60)[0]
    task = replace(first, train=Examples(first.train.x * scale, first.train.y))
    with pytest.raises(InputError, match=said):
        make("geppnet", **change).learn(task)


def test_settings_not_given_are_the_supplement_s() -> None:
    own = GeppnetSettings()
    assert (own.rows, own.columns, own.som_rate, own.readout_rate) == (23, 23, 0.1, 1e-3)
    assert (own.threshold, own.base_iterations, own.iterations) == (0.5, 80_000, 20_000)
    for wrong in ({"training": {"epochs": 2}}, {"som_rate": 1.0}, {"alone": 0.0}, {"rows": 0}):
        with pytest.raises(ValidationError):
            GeppnetSettings.model_validate(wrong)


# The short-term memory


@given(
    size=st.integers(1, 5),
    values=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=20),
)
def test_the_memory_is_a_queue_of_fixed_size(size: int, values: list[tuple[int, int]]) -> None:
    """It recalls the latest label of exactly that input, not of the nearest float's."""
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
            assert memory.recall(torch.tensor([other, 1.5000001])) is None
    memory.empty()
    assert (len(memory), len(memory.examples)) == (0, 0)
    assert memory.recall(torch.tensor([0.0, 1.5])) is None


class Recording(OnlineMap):
    """Writes down what it is given to learn, what it was asked about, and its weights then."""

    def __init__(self, own: GeppnetStm) -> None:
        som, output = own.model.children()
        super().__init__(som, output, 0.03, OpsMeter())
        self.own = own
        self.replayed: list[tuple[list[float], int]] = []
        self.awake: list[Tensor] = []

    def learn(
        self, x: Tensor, y: Tensor, shares: Tensor, threshold: float | None = None
    ) -> list[int]:
        assert threshold is None
        self.replayed += list(zip(x.tolist(), y.tolist(), strict=True))
        return super().learn(x, y, shares)

    def margins(self, x: Tensor, y: Tensor) -> Tensor:
        self.awake.append(self.own.model.state_dict()["som.prototypes"].clone())
        return super().margins(x, y)


def test_a_sleep_replays_what_is_held_once_and_nothing_else_changes_the_map() -> None:
    tasks, own = incremental(60)[:2], make("geppnet_stm")
    own.learn(tasks[0])
    network = Recording(own)
    own.later_session(network, tasks[1].train)
    # 150 iterations: sleeps after 40, 80, 120 and 150.
    assert len(network.awake) == 4
    assert 0 < len(network.replayed) <= 4 * 30
    held = own.memory.examples
    last = network.replayed[-len(held) :]
    assert last == list(zip(held.x.tolist(), held.y.tolist(), strict=True))
    assert not torch.equal(network.awake[0], network.awake[1])


def test_an_example_that_is_held_is_stored_again_with_another_label_alone() -> None:
    for labels in ([5, 5], [5, 6]):
        task, own = incremental(60)[0], make("geppnet_stm", memory=500, threshold=1.0)
        own.learn(task)
        own.restore({}, [])
        copies = task.train.x[:1].repeat(2, 1, 1, 1)
        own.later_session(Recording(own), Examples(copies, torch.tensor(labels)))
        assert set(own.memory.examples.y.tolist()) == set(labels)
        assert (len(own.memory) == 1) == (labels == [5, 5])


def test_the_memory_answers_for_what_it_holds_until_the_session_ends() -> None:
    tasks, own = incremental(60)[:2], make("geppnet_stm")
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
    learn(own, tasks[1:])
    assert len(own.memory) == 0
    with torch.no_grad():
        assert torch.equal(own.scores(x), own.model(x))
