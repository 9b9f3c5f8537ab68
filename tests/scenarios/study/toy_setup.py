"""A small study over made data, its jobs' fingerprints, and changes of every field it has."""

import torch

from probe.by_layer.fingerprint import Setup, fingerprint, setup_of
from probe.by_layer.jobs import jobs_of
from probe.examples import Examples
from scenarios.data.datasets import Dataset
from scenarios.streams.split import split_by_class
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
WITH = {"momentum": {"optimizer": "sgd"}}  # without which it cannot be
EXEMPLARS = [
    {"per_class": 5},
    {"total": 5},
    *({"per_class": 5, **own} for own in ({"sampling": "fifo"}, {"replay": "joined"})),
    {"per_class": 5, "balanced": True},
]
# A table of the study (None: the study itself), a name in it, and its value there.
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


def scenario(seed=0, labels=(0, 1, 2, 3), size=2):
    x = torch.rand(4, 1, 2, 2, generator=torch.Generator().manual_seed(seed))
    half = Examples(x, torch.tensor(labels))
    copy = Examples(half.x.clone(), half.y.clone())
    return split_by_class(Dataset(name="toy", classes=4, train=half, test=copy), size)


def made_setup(of=None, stream=None, device=CPU) -> Setup:
    """Return a study, the one above by default, over a scenario."""
    return setup_of(of or study(), stream or scenario(), device)


def fingerprints(of=None, stream=None, device=CPU):
    """Return the fingerprint of every job, by learner, executed order and seed."""
    whole = made_setup(of, stream, device)
    jobs = jobs_of(whole.study, len(whole.tasks))
    return {(job.learner, job.tasks, job.seed): fingerprint(whole.record(job)) for job in jobs}
