"""Property tests: two jobs have one identity if, and only if, all their results come from is one.

Settings count, used or not; the processor and this package's code do not.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenarios.study.identity import identify

from scenarios.learners.catalogue import LEARNERS
from scenarios.streams.task import Scenario
from scenarios.study.job import jobs_of
from scenarios.study.reading import check_study
from tests.scenarios.study.toy_identity import scenario

RECIPE = {
    "epochs": 5,
    "batch_size": 64,
    "optimizer": "adam",
    "learning_rate": 0.001,
    "init": "murata",
    "precision": "fp32",
}
OTHER = {
    "epochs": 6,
    "batch_size": 63,
    "optimizer": "sgd",
    "learning_rate": 1,
    "init": "torch",
    "precision": "bf16",
}
OF_LEARNER = ("epochs", "batch_size", "optimizer", "learning_rate")  # what it can have of its own
SETTINGS = {
    "finetune": {"competing": ["seen", "task"]},
    "er": {"memory_per_class": [128, 127]},
    "ewc": {"strength": [100.0, 101.0]},
    "pathnet": {"modules": [10, 11], "optimizer": ["sgd"]},
    "offline": {},
}


def some_of(recipe: dict, names=tuple(RECIPE)):
    return st.lists(st.sampled_from(names), unique=True, max_size=2).map(
        lambda chosen: {name: recipe[name] for name in chosen}
    )


@st.composite
def learner(draw, kind):
    known = type_of_settings(kind)
    table = {"kind": kind}
    for name, values in SETTINGS[kind].items():
        if name in known and draw(st.booleans()):
            table[name] = draw(st.sampled_from(values))
    training = draw(some_of({**RECIPE, **OTHER}, OF_LEARNER) | some_of(RECIPE, OF_LEARNER))
    return {**table, "training": training} if training else table


@cache
def type_of_settings(kind):
    raw = {"name": "x", "scenario": {"data": "digits"}, "network": {"name": "mlp"}}
    raw |= {"learners": {kind: {}}, "report": {"heads": ["multi"]}}
    return type(check_study(raw, "x").learners[kind]).model_fields


@st.composite
def raws(draw):
    """Draw a study as in a file: few values, so that much often agrees."""
    # A study of kinds by the names that it gives them.
    kinds = draw(st.lists(st.sampled_from(sorted(SETTINGS)), min_size=1, max_size=3, unique=True))
    named = {
        kind if kind == "offline" or draw(st.booleans()) else f"my_{kind}": draw(learner(kind))
        for kind in kinds
    }
    raw = {
        "name": draw(st.sampled_from(["tiny", "other"])),
        "scenario": {"data": draw(st.sampled_from(["digits", "elsewhere.npz"]))},
        "network": {"name": draw(st.sampled_from(["mlp", "cnn3"]))},
        "training": draw(some_of(OTHER)),
        "learners": named,
        "orders": draw(
            st.sampled_from(["none", "rotate", "shuffle:2", {"a": [2, 1]}, {"b": [1, 2]}])
        ),
        "seeds": draw(st.integers(1, 2)),
        "storage": draw(st.sampled_from(["fp32", "bf16"])),
        "report": {"heads": draw(st.sampled_from([["multi"], ["multi", "single"]]))},
    }
    if draw(st.booleans()):
        raw["network"]["features"] = ["output"]
    if draw(st.booleans()):
        raw["scenario"]["train_limit"] = draw(st.sampled_from([100, 200]))
    retraining = draw(st.none() | some_of(OTHER))
    return raw if retraining is None else {**raw, "retraining": retraining}


@st.composite
def streams(draw):
    """Draw what was loaded, and the arguments that it was made of: all that its bytes depend on."""
    made = {
        "seed": draw(st.integers(0, 1)),
        "labels": draw(st.sampled_from([(0, 1, 2, 3), (1, 0, 2, 3)])),
    }
    return scenario(**made), made


def everything(raw, stream, made, device):
    """Yield each job's identity, and independently of it all that its results come from."""
    study = check_study(raw, "tiny")
    whole = identify(study, stream, torch.device(device))
    training = {**RECIPE, **raw["training"]}
    retraining = {**RECIPE, **raw["retraining"]} if "retraining" in raw else training
    for job in jobs_of(study, len(stream.tasks)):
        table = raw["learners"][job.learner]
        own = {name: value for name, value in table.items() if name not in ("training", "kind")}
        defaults = {name: field.default for name, field in type_of_settings(job.kind).items()}
        usual = defaults["training"].model_dump(exclude_none=True) if defaults["training"] else {}
        offline, kind = job.kind == "offline", LEARNERS[job.kind]
        source = {
            "executed": [(made, place) for place in job.places],
            "network": raw["network"]["name"] if not kind.own_features else "its own",
            "recipe": {**training, **table.get("training", usual)},
            "settings": {**defaults, **own, "training": None, "kind": job.kind},
            "seed": job.seed,
            "retrained": None if offline else (retraining, raw["storage"]),
            "device": device.partition(":")[0],
        }
        yield whole.of(job), source


def both(first, second, agree):
    """Return the second study with the parts of the first in which the two are to agree."""
    return {**second, **{name: first[name] for name in agree if name in first}}


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(
    raws(),
    raws(),
    st.sets(st.sampled_from(["network", "training", "learners", "storage", "retraining"])),
    streams(),
    streams(),
    st.sampled_from(["cpu", "cuda:0", "cuda:1"]),
    st.sampled_from(["cpu", "cuda:0", "cuda:1"]),
)
def test_jobs_have_one_identity_if_they_have_one_result(
    first, second, agree, stream, other, device, another
):
    jobs = [
        *everything(first, *stream, device),
        *everything(both(first, second, agree), *other, another),
    ]
    for identity, source in jobs:
        for of_another, its_source in jobs:
            assert (identity == of_another) == (source == its_source)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(raws(), st.text(max_size=5), st.sampled_from(["split", "permutation"]))
def test_what_a_scenario_and_its_tasks_are_called_changes_nothing(raw, name, kind):
    stream, made = scenario(), {}
    called = Scenario(
        name=name, kind=kind, tasks=tuple(replace(t, name=f"{name} {t.name}") for t in stream.tasks)
    )
    jobs = everything(raw, stream, made, "cpu"), everything(raw, called, made, "cpu")
    for (identity, _), (of_another, _) in zip(*jobs, strict=True):
        assert identity == of_another
