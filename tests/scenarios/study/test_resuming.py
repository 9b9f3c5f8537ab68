"""A job goes on where it was stopped, to the same results; a senseless checkpoint is set aside."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from probe.training.costs import Cost
from scenarios.data.datasets import Location
from scenarios.learners.catalogue import LEARNERS
from scenarios.streams.task import Scenario
from scenarios.study.job import run_job
from scenarios.study.jobs import jobs_of, parts_of
from scenarios.study.measurement import Measurement
from scenarios.study.resuming import _DEVICE_FAILED
from scenarios.study.source import check_study
from scenarios.study.store import Store, quarantine_notes
from tests.scenarios.learners.tiny_learners import SMALL

OWN_SETTINGS: dict[str, dict[str, Any]] = {"icarl": {"exemplars": {"total": 20}}}
LAST = "step-5"


SCENARIO = {"data": "digits", "train_limit": 4, "test_limit": 3}


@cache
def _digits() -> Scenario:
    raw = {"name": "digits", "scenario": SCENARIO, "network": {"name": "mlp"}}
    study = check_study({**raw, "learners": {"er": {}}}, "digits")
    return study.scenario.scenario(Location())


@dataclass(frozen=True)
class OneJob:
    """The only job of a study of five tasks, and its store."""

    kind: str
    root: Path
    feature: str = "output"  # which none is retrained behind

    @property
    def store(self) -> Store:
        return Store(self.root, "job", {})

    @property
    def parts(self) -> list[str]:
        return parts_of(*self._study())

    def _study(self) -> Any:
        raw: dict[str, Any] = {
            "name": "resumed",
            "scenario": SCENARIO,
            "network": {"name": "mlp", "features": [self.feature]},
            "training": {"epochs": 1, "batch_size": 8},
            "learners": {self.kind: OWN_SETTINGS.get(self.kind, SMALL.get(self.kind, {}))},
            "orders": "none",
            "report": {"heads": ["multi"]},
        }
        if own := LEARNERS[self.kind].own_features:
            raw["network"]["features"] = own[-1:]
        study = check_study(raw, "resumed")
        [job] = jobs_of(study, 5)
        return study, job

    def run(self) -> list[str]:
        """Do what is left and return which parts that was."""
        study, job = self._study()
        self.root.mkdir(exist_ok=True)
        return list(run_job(study, job, _digits(), self.store, torch.device("cpu")))

    def measured(self) -> dict[str, tuple[object, Cost | None]]:
        """Return what no two runs differ in: counts and costs, by part."""
        found = {part: self.store.read(part) for part in self.parts}
        assert all(found.values())
        return {
            part: (m.counts, m.spent.cost if m.spent else None) for part, m in found.items() if m
        }

    def lose(self, *names: str) -> None:
        for name in names:
            (self.store.folder / name).unlink()


Finished = Callable[..., OneJob]
"""By the kind of the learner and, if any, the feature to retrain behind."""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return a kind's finished job; no test may change it."""
    folder = tmp_path_factory.mktemp("jobs")

    @cache
    def of(kind: str, feature: str = "output") -> OneJob:
        own = OneJob(kind, folder / f"{kind}.{feature}", feature)
        own.run()
        return own

    return of


@pytest.fixture
def copied(tmp_path: Path, finished: Finished) -> Finished:
    """Return a copy of it."""

    def of(kind: str, feature: str = "output") -> OneJob:
        shutil.copytree(finished(kind, feature).root, tmp_path / "run")
        return OneJob(kind, tmp_path / "run", feature)

    return of


# Going on


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_counts_and_costs_are_the_same_after_a_kill_anywhere(
    kind: str, copied: Finished, finished: Finished
) -> None:
    """Between the last checkpoint and its measurement, and before it, where it is learned again."""
    own, expected = copied(kind), finished(kind).measured()
    last = own.parts[1] if kind == "offline" else LAST
    for lost in ([f"{last}.json"], [f"{last}.json", f"{last}.checkpoint.json"]):
        own.lose(*lost)
        assert own.run() == [last]
        assert own.measured() == expected
    costs = {part for part, (_, cost) in expected.items() if cost}
    assert costs == {part for part in own.parts if part.startswith("step-")} - {"step-0"}
    assert quarantine_notes(own.root) == []


class Killed(BaseException):
    """What no one catches."""


@pytest.mark.parametrize("kind", ["cumulative", "er", "si"])
def test_killed_in_every_measurement(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    finished: Finished,
) -> None:
    """Every start measures one part and dies in the next, after its checkpoint was written."""
    own, write = OneJob(kind, tmp_path / "run"), Store.write

    def write_or_die(victim: str, self: Store, part: str, measured: Measurement) -> None:
        if part == victim:
            raise Killed
        write(self, part, measured)

    for part in own.parts[1:]:
        with monkeypatch.context() as patch:
            deadly = partial(write_or_die, part)
            patch.setattr(Store, "write", lambda *given, deadly=deadly: deadly(*given))
            with pytest.raises(Killed):
                own.run()
    assert own.run() == own.parts[-1:]
    assert own.measured() == finished(kind).measured()


@pytest.mark.parametrize("lost", ["step-0", "step-1", "step-4", LAST])
def test_a_lost_evaluation_is_done_again_and_nothing_else(
    lost: str, copied: Finished, finished: Finished
) -> None:
    """What was learned before and later is whole: no task is learned again."""
    own = copied("er")
    own.lose(f"{lost}.json")
    files = {path: path.stat().st_mtime_ns for path in own.store.folder.iterdir()}
    assert own.run() == [lost]
    assert own.measured() == finished("er").measured()
    after = {path: path.stat().st_mtime_ns for path in own.store.folder.iterdir()}
    assert {p.name for p in after if after[p] != files.get(p)} == {f"{lost}.json"}


@pytest.mark.parametrize("lost", ["step-1.checkpoint.json", "step-2.pt"])
def test_a_lost_feature_needs_the_last_checkpoint_alone(
    lost: str, copied: Finished, finished: Finished
) -> None:
    own = copied("er", "hidden1")
    own.lose(lost, "feature-hidden1.json")
    assert own.run() == ["feature-hidden1"]
    assert own.measured() == finished("er", "hidden1").measured()


def seconds(own: OneJob, step: str) -> float:
    measured = own.store.read(step)
    assert measured is not None
    assert measured.spent is not None
    return measured.spent.seconds


def test_seconds_are_kept_with_the_checkpoint_and_measured_anew_without(
    copied: Finished,
) -> None:
    own = copied("er")
    before = seconds(own, "step-4"), seconds(own, LAST)
    assert min(before) > 0
    own.lose(f"{LAST}.json")
    own.run()
    assert (seconds(own, "step-4"), seconds(own, LAST)) == before
    own.lose(f"{LAST}.json", f"{LAST}.checkpoint.json")
    own.run()
    assert seconds(own, "step-4") == before[0]
    assert seconds(own, LAST) not in (0, before[1])


# Senseless checkpoints


State = dict[str, Tensor]
Spoil = Callable[[State], State]
SPOILT = ["er", "ewc", "gem", "icarl", "rwalk", "offline"]


def as_it_is(state: State) -> State:
    return state


def garbage(state: Mapping[str, Tensor]) -> State:
    """Other values, so that a learner that took over some of them gives other results."""
    return {name: torch.full_like(tensor, 3) for name, tensor in state.items()}


def last_renamed(state: State) -> State:
    *others, last = garbage(state)
    return {**{name: garbage(state)[name] for name in others}, f"{last}.x": state[last]}


def last_longer(state: State) -> State:
    last = list(state)[-1]
    return {**garbage(state), last: torch.zeros(len(state[last]) + 1)}


def without(name: str, state: State) -> State:
    return {own: tensor for own, tensor in state.items() if own != name}


def with_one(name: str, tensor: Tensor, state: State) -> State:
    return {**state, name: tensor}


def reshaped(beginning: str, state: State) -> State:
    assert any(name.startswith(beginning) for name in state)
    return {n: torch.zeros(2, 3) if n.startswith(beginning) else x for n, x in state.items()}


MODEL: dict[str, Spoil] = {
    "model: a name": last_renamed,
    "model: a shape": last_longer,
    "model: nothing": lambda state: {},
}
COSTS: dict[str, Spoil] = {
    "no cost": partial(without, "cost"),
    "no seconds": partial(without, "seconds"),
    "cost too short": partial(with_one, "cost", torch.arange(6)),
    "cost below 0": partial(with_one, "cost", -torch.arange(7)),
    "cost no numbers": partial(with_one, "cost", torch.full((7,), torch.nan)),
    "cost a number": partial(with_one, "cost", torch.tensor(1)),
    "cost infinite": partial(with_one, "cost", torch.full((7,), torch.inf)),
    "seconds infinite": partial(with_one, "seconds", torch.tensor(torch.inf)),
    "two seconds": partial(with_one, "seconds", torch.ones(2)),
    "something else": partial(with_one, "unheard", torch.ones(2)),
}
OF_ITS_KIND: list[tuple[str, str, Spoil]] = [
    ("er", "no labels", partial(without, "memory.y")),
    ("er", "fewer labels", partial(with_one, "memory.y", torch.zeros(1, dtype=torch.int64))),
    ("er", "exemplars of another shape", partial(reshaped, "memory.x")),
    ("gem", "no sizes", partial(without, "memory.sizes")),
    ("gem", "other sizes", partial(with_one, "memory.sizes", torch.tensor([1]))),
    ("icarl", "exemplars of another shape", partial(reshaped, "memory.x")),
    ("ewc", "importance of another shape", partial(reshaped, "importance.")),
    ("ewc", "an anchor of another shape", partial(reshaped, "anchor.")),
    ("ewc", "no importance", partial(without, "importance.output.bias")),
    ("rwalk", "scores of another shape", partial(reshaped, "score.")),
]
CASES = [
    *((kind, name, spoil, as_it_is) for kind in SPOILT for name, spoil in MODEL.items()),
    *(("er", name, as_it_is, spoil) for name, spoil in COSTS.items()),
    *((kind, name, as_it_is, spoil) for kind, name, spoil in OF_ITS_KIND),
]


def cut_back(own: OneJob, model: Spoil, learner: Spoil, every: bool = False) -> list[str]:
    """Take the last step away and spoil the checkpoint before it, or every one; return which."""
    steps = [part for part in own.parts if part.startswith("step-")]
    lost = [f"{steps[-1]}.json"]
    if len(steps) > 2:
        lost.append(f"{steps.pop()}.checkpoint.json")
    own.lose(*lost)
    spoilt = steps[1:] if every else steps[-1:]
    for step in spoilt:
        saved = own.store.load_checkpoint(step)
        assert saved is not None
        own.store.save_checkpoint(step, model(saved.model), learner(saved.learner))
    return spoilt


def assert_resumed_without(own: OneJob, spoilt: list[str], expected: object) -> None:
    own.run()
    assert own.measured() == expected
    said = quarantine_notes(own.root)
    assert len(said) == 3 * len(spoilt)
    assert all("the learner cannot be restored from it" in note for note in said)
    assert all(any(f"/{step}.checkpoint.json: " in note for note in said) for step in spoilt)


@pytest.mark.parametrize(
    ("kind", "model", "learner"),
    [pytest.param(kind, *spoil, id=f"{kind}, {name}") for kind, name, *spoil in CASES],
)
def test_what_no_learner_can_be_restored_from_is_set_aside(
    copied: Finished,
    finished: Finished,
    kind: str,
    model: Spoil,
    learner: Spoil,
) -> None:
    """And the results are those of a run without it: nothing of it was taken over."""
    own = copied(kind)
    spoilt = cut_back(own, model, learner)
    assert_resumed_without(own, spoilt, finished(kind).measured())


@pytest.mark.parametrize("kind", SPOILT)
def test_if_no_checkpoint_is_of_any_use_it_starts_from_the_beginning(
    copied: Finished, finished: Finished, kind: str
) -> None:
    own = copied(kind)
    spoilt = cut_back(own, last_longer, as_it_is, every=True)
    assert_resumed_without(own, spoilt, finished(kind).measured())


def test_other_values_give_other_results(copied: Finished, finished: Finished) -> None:
    """What is set aside above would have been seen, had it been used."""
    own = copied("er")
    cut_back(own, garbage, as_it_is)
    own.run()
    assert own.measured() != finished("er").measured()
    assert quarantine_notes(own.root) == []


@pytest.mark.parametrize("error", [error("gone") for error in _DEVICE_FAILED])
def test_a_device_that_fails_says_nothing_about_a_checkpoint(
    copied: Finished, monkeypatch: pytest.MonkeyPatch, error: RuntimeError
) -> None:
    own = copied("er")
    cut_back(own, as_it_is, as_it_is)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("scenarios.learners.continual.ContinualLearner.restore", fail)
    with pytest.raises(type(error)):
        own.run()
    assert quarantine_notes(own.root) == []
