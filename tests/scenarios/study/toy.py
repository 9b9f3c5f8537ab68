"""A small study over made data, changes of all its fields, and a job's folder filled by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Never

import numpy as np
import torch

from probe.by_layer.engine import measure
from probe.by_layer.fingerprint import fingerprint
from probe.by_layer.jobs import jobs_of
from probe.by_layer.measurement import Measurement, Spent
from probe.by_layer.plan import Plan
from probe.by_layer.quarantine import quarantine_notes
from probe.by_layer.store import Store
from probe.examples import Examples
from probe.metrics.counts import Counts
from probe.metrics.outcomes import Outcomes
from probe.tasked_examples import assign_tasks
from probe.tasks import Scenario
from probe.training.costs import Cost
from probe.values.allocation import CacheSettings
from scenarios.study.learned import StudyNetworks
from scenarios.study.planning import plan_of
from scenarios.study.source import check_study

CPU = torch.device("cpu")
RAW = {
    "name": "tiny",
    "scenario": {"data": "digits", "classes_per_task": 2},
    "network": {"name": "cnn3"},
    "training": {},
    "learners": {"finetune": {}, "er": {}},
    "report": {"heads": ["multi"]},
}
RECIPE = {
    **{"epochs": 6, "batch_size": 63, "optimizer": "sgd", "learning_rate": 0.0011},
    **{"weight_decay": 0.1, "momentum": 0.9, "schedule": "cosine", "warmup": 0.1, "clip_norm": 1.0},
}
WITH = {"momentum": {"optimizer": "sgd"}}  # required with it
EXEMPLARS = [
    {"per_class": 5},
    {"total": 5},
    *({"per_class": 5, **own} for own in ({"sampling": "fifo"}, {"replay": "joined"})),
    {"per_class": 5, "balanced": True},
]
# A table of the study (None: the study itself), a key in it, and its value there.
CHANGES = [
    *(
        (recipe, name, value)
        for recipe in ("training", "retraining")
        for name, value in {**RECIPE, "init": "murata", "precision": "bf16"}.items()
    ),
    *(
        ("learners", kind, {"training": {**WITH.get(n, {}), n: v}})
        for kind in ("er", "finetune")
        for n, v in RECIPE.items()
    ),
    *(("learners", "finetune", {"exemplars": exemplars}) for exemplars in EXEMPLARS),
    ("learners", "finetune", {"competing": "task"}),
    ("learners", "er", {"memory_per_class": 127}),
    ("learners", "er", {"competing": "seen"}),
    ("learners", "er", {"kind": "cumulative"}),
    ("learners", "offline", {}),
    ("learners", "pathnet", {"modules": 11}),
    ("network", "name", "mlp"),
    ("network", "features", ["conv1"]),
    (None, "storage", "bf16"),
    (None, "retraining", {}),
    (None, "orders", "none"),
    (None, "orders", {"0": [1, 2]}),
    (None, "seeds", 2),
    (None, "probing", {"readouts": {"linear": {"C": 2.0}, "retrain": "all"}, "budget": [1, 2]}),
    ("scenario", "data", "mnist"),
    ("scenario", "train_limit", 5),
    (None, "scenario", {"kind": "permutation", "data": "digits"}),
    (None, "scenario", {"kind": "incremental", "data": "digits", "validation": 5}),
    (None, "scenario", {"kind": "multimodal", "data": ["digits", "mnist"]}),
    (None, "name", "other"),
    (None, "report", {"heads": ["multi"], "weights": {"a": [1, 0, 0, 0, 0, 0, 0]}}),
    (None, "report", {"heads": ["multi", "all"], "mean": "classes"}),
]


def changed(table, name, value, raw=RAW):
    """Return a study as in a file with one value changed."""
    if table is None:
        return {**raw, name: value}
    needed = WITH.get(name, {}) if table in ("training", "retraining") else {}
    return {**raw, table: {**raw.get(table, {}), **needed, name: value}}


def study(*change):
    """Return the study above, with one value changed if any is named."""
    return check_study(changed(*change) if change else RAW, "tiny")


def scenario(seed=0, labels=(0, 1, 2, 3), tasks=((0, 1), (2, 3))) -> Scenario:
    """Return four examples of 2 x 2 pixels, their own test data."""
    x = torch.rand(4, 1, 2, 2, generator=torch.Generator().manual_seed(seed))
    train, test = (Examples(x.clone(), torch.tensor(labels)) for _ in range(2))
    return in_tasks("toy", train, test, tasks)


def in_tasks(name, train, test, tasks) -> Scenario:
    """Return a scenario in which tasks may share classes, and examples."""
    halves = ("train", train), ("test", test)
    each = {n: [half.of_classes(own) for own in tasks] for n, half in halves}
    return Scenario.of_examples(name, assign_tasks(each, None))


def made_plan(of=None, stream=None, device=CPU) -> Plan:
    """Return the plan of a study, the one above by default, over a scenario."""
    return plan_of(of or study(), stream or scenario(), device)


def named_plan(raw, tasks) -> Plan:
    """Return the plan of a study over tasks that have names and classes, and next to no data."""
    classes = max(max(own) for _, own in tasks) + 1
    data = Examples(torch.zeros(classes, 1), torch.arange(classes))
    stream = in_tasks("", data, data, [own for _, own in tasks])
    plan = plan_of(check_study(raw, "toy"), stream, CPU).model_dump()
    return Plan.model_validate(
        {**plan, "tasks": [{"name": name, "classes": own} for name, own in tasks]}
    )


def record_of(plan, job):
    return plan.record(job.learner, job.order, job.tasks, job.seed, job.without)


def fingerprints(of=None, stream=None, device=CPU):
    """Return the fingerprint of every job, by learner, executed order and seed."""
    plan = made_plan(of, stream, device)
    return {(j.learner, j.tasks, j.seed): fingerprint(record_of(plan, j)) for j in jobs_of(plan)}


def no_offline() -> Never:
    raise AssertionError("no offline network is needed")


def do(study, plan, job, stream, store, cache=None, offline=no_offline) -> list[str]:
    """Make the measurements of a job that are missing and return their names."""
    source = StudyNetworks(plan=plan, study=study, scenario=stream)
    return list(measure(source, job, store, cache or CacheSettings(), offline))


def measurement(counts, **given) -> Measurement:
    """Return counts by head as a measurement, with the test examples that they say are right."""
    right = {
        head: Outcomes.of(
            np.concatenate(
                [
                    np.repeat([True, False], [row[c], row.sum() - row[c]])
                    for each in tables
                    for c, row in enumerate(each.table)
                ]
            )
        )
        for head, tables in counts.items()
    }
    return Measurement(counts=counts, right=right, **given)


# A job's folder, and damage to its files

JOB, OTHER_JOB = "er.order-0.seed-0", "er.order-1.seed-0"
RECORD = {"version": 1, "training": {"epochs": 1}}
TABLE = np.array([[41, 3], [7, 2**40]])
COST = Cost.of_tensor(torch.tensor([1, 2, 0, 4, 2**60, 2**60 + 1, 5]))
COUNTS = {
    "single": (Counts(TABLE),),
    "multi": (Counts(TABLE * 2),),
    "all": (Counts(TABLE.T), Counts(TABLE)),
}
RIGHT = {"single": Outcomes.of([1, 0])}
MEASURED = Measurement(counts=COUNTS, right=RIGHT, spent=Spent(cost=COST, seconds=0.1 + 0.2))
MODEL = {"weight": torch.tensor([[0.5, -0.0], [1e-30, torch.pi]]), "steps": torch.tensor(3)}
LEARNER = {"memory.y": torch.tensor([1, 2], dtype=torch.int64)}


def filled(root: Path, job: str = JOB, record=RECORD) -> Store:
    """Return a job's store with `step-1` and `step-2` in it; the model tells whose it is."""
    root.mkdir(exist_ok=True)
    store = Store(root, job, record, "code")
    for k, part in enumerate(("step-1", "step-2"), 1):
        store.write(part, MEASURED)
        own = torch.tensor([k, len(job), *job.encode(), record["training"]["epochs"]])
        store.save_checkpoint(part, {**MODEL, "own": own}, LEARNER)
    return store


def assert_set_aside(store: Store, *names: str) -> None:
    """Check that these files and no others are in quarantine, each with its note."""
    aside = {path.name for path in (store.root / "quarantine").iterdir()}
    folder = store.folder.relative_to(store.root / "jobs")
    assert aside == {f"{'.'.join(folder.parts)}.{n}{end}" for n in names for end in ("", ".txt")}
    notes = quarantine_notes(store.root)
    assert len(notes) == len(names)
    for name in names:
        assert not (store.folder / name).exists()
        assert any(note.startswith(f"jobs/{folder}/{name}: ") for note in notes)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("")


def replaced_by(other: Path) -> Callable[[Path], None]:
    """A whole and valid file, that of another measurement, job or fingerprint."""
    return lambda path: shutil.copy(other, path)


SPOILT = [truncated, emptied, flipped, made_a_folder]


def damaged_versions(whole: bytes, tasks_seen: int) -> list[bytes]:
    """Return a file's content with one bit flipped, and cut off, at every `tasks_seen`-th byte."""
    at = range(0, len(whole), tasks_seen)
    bits = [whole[:k] + bytes([whole[k] ^ 1 << k % 8]) + whole[k + 1 :] for k in at]
    return bits + [whole[:k] for k in at]
