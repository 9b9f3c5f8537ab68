"""A checkpoint that is whole but senseless is set aside, and the results are as without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from scenarios.study.quarantine import notes
from torch import Tensor

from scenarios.data.datasets import Location
from scenarios.learners.catalogue import LEARNERS
from scenarios.study.job import Job, jobs_of, parts_of, run_job
from scenarios.study.reading import check_study
from scenarios.study.spec import Study
from scenarios.study.store import State, Store
from tests.scenarios.learners.tiny_learners import SMALL

KINDS: dict[str, dict[str, Any]] = {
    "er": {"memory_per_class": 3},
    "ewc": {},
    "gem": {"memory_per_class": 3},
    "icarl": {"exemplars": {"total": 20}},
    "rwalk": {},
    "offline": {},
}
CPU = torch.device("cpu")


def study_of(kind: str) -> tuple[Study, Job]:
    raw: dict[str, Any] = {
        "name": "resumed",
        "scenario": {"data": "digits", "train_limit": 6, "test_limit": 3},
        "network": {"name": "mlp", "features": ["hidden1"]},
        "training": {"epochs": 1},
        "learners": {kind: KINDS.get(kind, SMALL.get(kind, {}))},
        "orders": "none",
        "report": {"heads": ["multi"]},
    }
    if LEARNERS[kind].own_features:
        del raw["network"]["features"]
    study = check_study(raw, "resumed")
    [job] = jobs_of(study, 5)
    return study, job


def run(kind: str, root: Path) -> Store:
    study, job = study_of(kind)
    root.mkdir(exist_ok=True)
    store = Store(root, "x")
    for _ in run_job(study, job, study.scenario.scenario(Location()), store, CPU):
        pass
    return store


def counts(kind: str, store: Store) -> dict[str, Any]:
    study, job = study_of(kind)
    found = {part: store.read(job.name, part) for part in parts_of(study, job)}
    return {part: measured and measured.counts for part, measured in found.items()}


Spoil = Callable[[dict[str, Tensor]], dict[str, Tensor]]


def as_it_is(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return state


def garbage(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Other values, so that a learner that took over some of them gives other results."""
    return {name: torch.full_like(tensor, 3) for name, tensor in state.items()}


def last_renamed(state: dict[str, Tensor]) -> dict[str, Tensor]:
    *others, last = garbage(state)
    return {**{name: garbage(state)[name] for name in others}, f"{last}.x": state[last]}


def last_longer(state: dict[str, Tensor]) -> dict[str, Tensor]:
    last = list(state)[-1]
    return {**garbage(state), last: torch.zeros(len(state[last]) + 1)}


def without(name: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {own: tensor for own, tensor in state.items() if own != name}


def with_one(name: str, tensor: Tensor, state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {**state, name: tensor}


def reshaped(prefix: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    assert any(name.startswith(prefix) for name in state)
    return {n: torch.zeros(2, 3) if n.startswith(prefix) else x for n, x in state.items()}


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
OWN: list[tuple[str, str, Spoil]] = [
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
    *((kind, name, spoil, as_it_is) for kind in KINDS for name, spoil in MODEL.items()),
    *(("er", name, as_it_is, spoil) for name, spoil in COSTS.items()),
    *((kind, name, as_it_is, spoil) for kind, name, spoil in OWN),
]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    place = tmp_path_factory.mktemp("undisturbed")
    return {kind: counts(kind, run(kind, place / kind)) for kind in KINDS}


def cut_back(kind: str, store: Store, every: bool, model: Spoil, learner: Spoil) -> list[str]:
    """Take the last step away, spoil the checkpoint before it or every one; return which."""
    study, job = study_of(kind)
    steps = [part for part in parts_of(study, job) if part.startswith("step-")]
    folder = store.root / "jobs" / job.name
    for part in ("feature-hidden1", steps[-1]):
        (folder / f"{part}.json").unlink(missing_ok=True)
    if len(steps) > 2:
        (folder / f"{steps[-1]}.checkpoint.json").unlink()
        steps.pop()
    spoilt = steps[1:] if every else steps[-1:]
    for part in spoilt:
        saved = store.load_checkpoint(job.name, part)
        assert saved is not None
        spoiled: tuple[State, State] = model(saved.model), learner(saved.learner)
        store.save_checkpoint(job.name, part, *spoiled)
    return spoilt


@pytest.mark.parametrize(
    ("kind", "model", "learner"),
    [pytest.param(kind, *spoil, id=f"{kind}, {name}") for kind, name, *spoil in CASES],
)
@pytest.mark.parametrize("every", [False, True], ids=["one", "every"])
def test_what_no_learner_can_be_restored_from_is_set_aside(
    tmp_path: Path,
    undisturbed: dict[str, dict[str, Any]],
    kind: str,
    model: Spoil,
    learner: Spoil,
    every: bool,
) -> None:
    """And the results are those of a run without it: nothing of it was taken over."""
    store = run(kind, tmp_path / "run")
    spoilt = cut_back(kind, store, every, model, learner)
    assert counts(kind, run(kind, store.root)) == undisturbed[kind]
    said = notes(store.root)
    assert len(said) == 3 * len(spoilt)
    assert all("the learner cannot be restored from it" in note for note in said)
    assert all(any(f"/{part}.checkpoint.json: " in note for note in said) for part in spoilt)


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_checkpoint_as_it_was_saved_is_taken(tmp_path: Path, kind: str) -> None:
    store = run(kind, tmp_path / "run")
    before = counts(kind, store)
    cut_back(kind, store, True, as_it_is, as_it_is)
    assert counts(kind, run(kind, store.root)) == before
    assert notes(store.root) == []


def test_other_values_give_other_results(
    tmp_path: Path, undisturbed: dict[str, dict[str, Any]]
) -> None:
    """What is set aside above would have been seen, had it been used."""
    store = run("er", tmp_path / "run")
    cut_back("er", store, False, garbage, as_it_is)
    assert counts("er", run("er", store.root)) != undisturbed["er"]


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("full"), torch.AcceleratorError("gone")])
def test_a_device_that_fails_says_nothing_about_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: RuntimeError
) -> None:
    store = run("er", tmp_path / "run")
    cut_back("er", store, True, as_it_is, as_it_is)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("scenarios.learners.continual.ContinualLearner.restore", fail)
    with pytest.raises(type(error)):
        run("er", store.root)
    assert notes(store.root) == []
