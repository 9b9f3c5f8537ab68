"""The dangerous direction, by really running jobs: one identity, one result, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from probe.errors import InputError
from probe.values.allocation import CacheSettings
from scenarios.data.datasets import Location
from scenarios.learners.base import RecipeChanges
from scenarios.learners.catalogue import LEARNERS
from scenarios.streams.task import Scenario
from scenarios.study.identity import identify
from scenarios.study.job import jobs_of, run_job
from scenarios.study.reading import check_study
from scenarios.study.store import Store
from tests.scenarios.learners.tiny_learners import SMALL

CPU = torch.device("cpu")
RAW = {
    "name": "plain",
    "scenario": {"data": "digits", "classes_per_task": 5, "train_limit": 4, "test_limit": 5},
    "network": {"name": "cnn3"},
    "training": {"epochs": 1, "batch_size": 8},
    "orders": {"back": [2, 1]},
    "report": {"heads": ["multi"]},
}


def results(raw, learner, root: Path, *, called="", cache=None):
    """Run a learner's last job; return its identity, its counts and costs, and its checkpoints."""
    study = check_study(raw, "plain")
    scenario = study.scenario.scenario(Location())
    if called:
        tasks = tuple(replace(task, name=f"{called} {task.name}") for task in scenario.tasks)
        scenario = Scenario(name=called, kind="permutation", tasks=tasks)
    identity = identify(study, scenario, CPU)
    places = (0, 1) if LEARNERS[study.learners[learner].kind].offline else (1, 0)
    [job] = [
        job
        for job in jobs_of(study, 2)
        if (job.learner, job.places, job.seed) == (learner, places, 0)
    ]
    root.mkdir()
    store = Store(root, identity.of(job))
    parts = list(run_job(study, job, scenario, store, CPU, cache))
    measured = {part: store.read(job.name, part) for part in parts}
    counts = {
        part: (m.counts, m.spent and m.spent.cost) for part, m in measured.items() if m is not None
    }
    states = {part: store.load_checkpoint(job.name, part) for part in parts}
    return identity.of(job), counts, {k: v for k, v in states.items() if v}


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_what_is_not_in_the_identity_changes_no_bit(kind: str, tmp_path: Path) -> None:
    """Every learner once as it is, and once with all that is free changed at a time."""
    own = {"kind": kind, **SMALL.get(kind, {})}
    plain = {**RAW, "learners": {kind: own}}
    free = kind if kind == "offline" else "another_name"
    changed = {
        **RAW,
        "name": "other",
        # The limits cut as much; the order comes among others, under a number.
        "learners": {"finetune": {}, "cumulative": {}, free: own},
        "orders": "rotate",
        "seeds": 2,
        "report": {"heads": ["multi", "all"], "mean": "classes"},
        "network": {"name": "cnn3", "features": [_middle(kind)]},
        # Said by the learner, not by the study, and the other way round.
        "training": {"epochs": 2, "batch_size": 8, "init": "murata"},
        "retraining": RAW["training"],
    }
    try:
        changes = check_study(plain, "plain").learners[kind].training or RecipeChanges()
        said = {**changes.model_dump(exclude_none=True), "epochs": 1}
        changed["learners"][free] = {**own, "training": said}
        check_study(changed, "plain")
    except InputError:  # one that has no choice of its recipe
        changed["learners"][free], changed["training"] = own, RAW["training"]
    if LEARNERS[kind].own_features:
        changed["network"] = {"name": "mlp", "features": [_middle(kind)]}
    if LEARNERS[kind].offline:
        changed |= {"storage": "bf16", "retraining": {"epochs": 3}}
    cache = CacheSettings(budget=0, scratch=tmp_path / "scratch")
    mine, counts, states = results(plain, kind, tmp_path / "plain")
    theirs, others, other_states = results(
        changed, free, tmp_path / "changed", called="elsewhere", cache=cache
    )
    assert mine == theirs
    assert others.keys() <= counts.keys()
    assert len(others) >= 2
    assert others == {part: counts[part] for part in others}
    assert states.keys() == other_states.keys()
    for part, saved in states.items():
        assert same(saved.model, other_states[part].model)
        assert same(saved.learner, other_states[part].learner, but={"seconds"})


def _middle(kind: str) -> str:
    own = LEARNERS[kind].own_features
    return own[len(own) // 2] if own else "conv2"


def same(one, other, but=frozenset()) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(one[name], other[name]) for name in one.keys() - but
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("seed", 1),
        ("training.batch_size", 7),
        ("training.learning_rate", 0.002),
        ("training.init", "torch"),
        ("retraining", {"epochs": 2, "batch_size": 8}),
        ("orders", {"back": [1, 2]}),
        ("scenario.train_limit", 3),
        ("scenario.test_limit", 4),
        ("network.name", "mlp"),
        ("learners.finetune", {"competing": "task"}),
    ],
)
def test_what_is_in_it_does_change_them(path: str, value, tmp_path: Path) -> None:
    """The other direction, for the things that matter: what they change is worth an identity."""
    plain = {**RAW, "learners": {"finetune": {}}}
    table, _, name = path.partition(".")
    if path == "seed":
        changed, seed = {**plain, "seeds": 2}, 1
    else:
        changed = {**plain, table: {**plain[table], name: value} if name else value}
        seed = 0
    found = []
    for raw, number in ((plain, 0), (changed, seed)):
        study = check_study(raw, "plain")
        scenario = study.scenario.scenario(Location())
        identity = identify(study, scenario, CPU)
        job = next(job for job in jobs_of(study, len(scenario.tasks)) if job.seed == number)
        root = tmp_path / str(len(found))
        root.mkdir()
        store = Store(root, identity.of(job))
        parts = list(run_job(study, job, scenario, store, CPU))
        tables = [(part, store.read(job.name, part).counts) for part in parts]
        found.append((identity.of(job), tables))
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]
