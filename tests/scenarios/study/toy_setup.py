"""A small study over made data, its jobs' fingerprints, and every change that can be made in it."""

import torch

from probe.examples import Examples
from scenarios.data.datasets import Dataset
from scenarios.streams.split import split_by_class
from scenarios.study.fingerprint import Setup, fingerprint, setup_of
from scenarios.study.jobs import jobs_of
from scenarios.study.scenario_spec import IncrementalSpec, MultimodalSpec, PermutationSpec
from scenarios.study.source import check_study

CPU = torch.device("cpu")
RAW = {
    "name": "tiny",
    "scenario": {"data": "digits", "classes_per_task": 2},
    "network": {"name": "cnn3"},
    "training": {},
    "learners": {"finetune": {}, "er": {}},
}
PERMUTED = {"kind": "permutation", "data": "digits"}
BY_CLASS = {"kind": "incremental", "data": "digits"}
BOTH = {"kind": "multimodal", "data": ["digits", "mnist"]}
LIMITS = [("train_limit", 5), ("test_limit", 5), ("validation", 5)]
# Whole scenarios: of each other kind the plain one, and those that differ from it in one field.
KINDS = {
    PermutationSpec: [
        PERMUTED,
        *[
            {**PERMUTED, name: value}
            for name, value in [("data", "mnist"), ("sessions", 9), ("permutations", 1), *LIMITS]
        ],
    ],
    IncrementalSpec: [
        BY_CLASS,
        *[{**BY_CLASS, name: value} for name, value in [("data", "mnist"), ("base", 4), *LIMITS]],
    ],
    MultimodalSpec: [
        BOTH,
        *[{**BOTH, name: value} for name, value in [("data", ["mnist", "digits"]), *LIMITS]],
    ],
}
CHANGES = [
    *[("scenario", name, value) for name, value in [("data", "mnist"), ("train_limit", 5)]],
    *[("scenario", name, 5) for name in ("test_limit", "validation")],
    ("scenario", "classes_per_task", 1),
    ("network", "name", "mlp"),
    ("network", "features", ["conv1"]),
    *[
        (recipe, name, value)
        for recipe in ("training", "retraining")
        for name, value in [
            ("epochs", 6),
            ("batch_size", 63),
            ("optimizer", "sgd"),
            ("learning_rate", 0.0011),
            ("init", "torch"),
            ("precision", "bf16"),
        ]
    ],
    ("learners", "er", {"memory_per_class": 127}),
    ("learners", "er", {"competing": "seen"}),
    ("learners", "finetune", {"competing": "task"}),
    *[
        ("learners", "finetune", {"exemplars": exemplars})
        for exemplars in (
            {"per_class": 5},
            {"total": 5},
            {"per_class": 5, "sampling": "fifo"},
            {"per_class": 5, "replay": "joined"},
            {"per_class": 5, "balanced": True},
        )
    ],
    *[
        ("learners", kind, {"training": training})
        for kind in ("er", "finetune")
        for training in (
            {"epochs": 6},
            {"batch_size": 63},
            {"optimizer": "nadam"},
            {"learning_rate": 0.0011},
        )
    ],
    ("learners", "er", {"kind": "cumulative"}),
    ("learners", "offline", {}),
    (None, "orders", "none"),
    (None, "orders", {"0": [1, 2]}),
    (None, "seeds", 2),
    (None, "retraining", {}),
    (None, "storage", "bf16"),
    *[(None, "scenario", table) for tables in KINDS.values() for table in tables],
]
FREE = [
    ("name", "other"),
    ("report", {"heads": ["multi"], "weights": {"a": [1, 0, 0, 0, 0, 0, 0]}}),
    ("report", {"mean": "classes"}),
]


def study(table=None, name="", value=None):
    """Return the study above, with one value changed."""
    changed = {**RAW, table: {**RAW.get(table, {}), name: value}} if table else {**RAW, name: value}
    return check_study(changed if name else RAW, "tiny")


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
