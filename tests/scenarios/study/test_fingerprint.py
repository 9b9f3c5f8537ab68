"""Fingerprints: whatever can change a job's result changes its own, and nothing else does."""

from dataclasses import fields, replace
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probe.training.loop import Recipe
from scenarios.learners.base import RecipeChanges
from scenarios.learners.catalogue import LEARNERS
from scenarios.learners.exemplars import ExemplarSettings
from scenarios.learners.finetune import FinetuneSettings
from scenarios.learners.replay.er import ErSettings
from scenarios.streams.task import Scenario
from scenarios.study import fingerprint as module
from scenarios.study.fingerprint import RESULTS_VERSION, differences, fingerprint, tensor_hash
from scenarios.study.jobs import jobs_of
from scenarios.study.scenario_spec import SplitSpec
from scenarios.study.source import check_study
from scenarios.study.spec import NetworkSpec, Study
from tests.scenarios.study.toy_setup import (
    CHANGES,
    FREE,
    KINDS,
    RAW,
    fingerprints,
    made_setup,
    scenario,
    study,
)

# What of a study says only which jobs there are, where the data come from (they are what counts),
# or what is measured beside: a job has the same results with any of it.
CHOICES = {"scenario", "orders", "seeds", "features"}


@pytest.mark.parametrize(("table", "name", "value"), CHANGES)
def test_whatever_can_change_a_result_changes_the_fingerprint(table, name, value):
    """And what only chooses jobs, leaves those that there were before as they are."""
    before, after = fingerprints(), fingerprints(study(table, name, value))
    common = before.keys() & after.keys()
    assert common or table == "learners"
    if {table, name} & CHOICES:
        assert all(after[job] == before[job] for job in common)
    elif (table, name, value) == (None, "retraining", {}):
        assert after == before  # the same recipe, said twice
    else:
        for job in common:
            concerned = table != "learners" or job[0] == name
            assert (after[job] != before[job]) == concerned


@pytest.mark.parametrize(("name", "value"), FREE)
def test_the_name_and_the_report_change_nothing(name, value):
    other = study(None, name, value)
    assert fingerprints(other) == fingerprints()
    assert other != study()


def test_what_a_learner_and_an_order_are_called_changes_nothing():
    called = {**RAW, "learners": {"one": {"kind": "er"}, "finetune": {}}, "orders": "none"}
    here = {**RAW, "learners": {"er": {}}, "orders": {"forwards": [1, 2]}}
    by_name, other = (fingerprints(check_study(raw, "tiny")) for raw in (called, here))
    assert by_name["one", (0, 1), 0] == other["er", (0, 1), 0]


def test_the_recipe_of_the_retraining_and_the_storage_are_nothing_to_offline():
    raws = ({}, {"retraining": {"epochs": 9}}, {"storage": "bf16"}, {"orders": {"b": [2, 1]}})
    offline = {**RAW, "learners": {"offline": {}}}
    assert len({str(fingerprints(check_study({**offline, **raw}, "tiny"))) for raw in raws}) == 1


def test_no_two_jobs_of_a_study_have_the_same_fingerprint():
    everything = fingerprints(study(None, "seeds", 3))
    assert len(set(everything.values())) == len(everything) == 2 * 2 * 3


def test_the_same_study_has_the_same_fingerprints_each_time():
    assert fingerprints() == fingerprints()
    assert fingerprints(study("scenario", "kind", "split")) == fingerprints()
    reordered = check_study(dict(reversed(RAW.items())), "tiny")
    assert fingerprints(reordered) == fingerprints()


def test_every_field_of_a_study_is_among_the_changes_tried():
    changed = {(table or "", name) for table, name, _ in CHANGES}
    of_split = {name for table, name in changed if table == "scenario"}
    assert of_split | {"kind"} == set(SplitSpec.model_fields)
    for spec, (plain, *others) in KINDS.items():
        of_kind = {name for table in others for name in table if table[name] != plain.get(name)}
        assert of_kind | {"kind"} == set(spec.model_fields)
    assert {name for table, name in changed if table == "network"} == set(NetworkSpec.model_fields)
    for recipe in ("training", "retraining"):
        named = {name for table, name in changed if table == recipe}
        assert named == {field.name for field in fields(Recipe)}
    for kind, settings_class in (("er", ErSettings), ("finetune", FinetuneSettings)):
        named = {field for _, name, value in CHANGES if name == kind for field in value}
        # Its exemplars are its memory: it takes no others.
        fixed = {"kind", "exemplars"} if kind == "er" else {"kind"}
        assert named | fixed == set(settings_class.model_fields)
    exemplars = [v["exemplars"] for _, _, v in CHANGES if isinstance(v, dict) and "exemplars" in v]
    assert {field for each in exemplars for field in each} == set(ExemplarSettings.model_fields)
    trained = [v["training"] for _, _, v in CHANGES if isinstance(v, dict) and "training" in v]
    assert {field for each in trained for field in each} == set(RecipeChanges.model_fields)
    own = {name for table, name in changed if not table} | {table for table, _ in changed if table}
    assert own == set(Study.model_fields) - {"name", "report"}


# Data, software, device


def all_differ(one, other):
    return one.keys() == other.keys() and not set(one.values()) & set(other.values())


@pytest.mark.parametrize("half", ["train", "test"])
@pytest.mark.parametrize("what", ["x", "y"])
def test_a_pixel_or_a_label_changes_every_fingerprint(half, what):
    stream = scenario()
    part = getattr(stream.tasks[1], half)
    if what == "x":
        pixel = part.x[0, 0, 0, 0]
        pixel.copy_(torch.nextafter(pixel, torch.tensor(2.0)))
    else:
        part.y[0] = 3
    assert all_differ(fingerprints(stream=stream), fingerprints())


def test_how_the_data_are_cut_and_ordered_changes_every_fingerprint():
    for other in (scenario(size=1), scenario().reordered([1, 0]), scenario(labels=(1, 0, 2, 3))):
        assert not set(fingerprints(stream=other).values()) & set(fingerprints().values())


def test_the_kind_of_device_changes_it_and_its_number_does_not():
    first, second = (fingerprints(device=torch.device("cuda", k)) for k in (0, 1))
    assert first == second
    assert all_differ(first, fingerprints())


@pytest.mark.parametrize(
    ("what", "other"),
    [("torch.__version__", "9.9"), (f"{module.__name__}.RESULTS_VERSION", RESULTS_VERSION + 1)],
)
def test_another_torch_or_version_of_our_results_changes_every_fingerprint(
    monkeypatch, what, other
):
    before = fingerprints()
    with monkeypatch.context() as patch:
        patch.setattr(what, other)
        assert all_differ(fingerprints(), before)
    assert fingerprints() == before


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"a": 1}, []),
        ({"a": 2}, ["a is 2 there and 1 here"]),
        ({"a": {"b": 1}}, ['a is {"b": 1} there and 1 here']),
        ({}, ["a is null there and 1 here"]),
        ({"c": "x" * 99}, ["a is null there and 1 here", f'c is "{"x" * 56}... there and null']),
    ],
)
def test_all_that_differs_is_named_and_what_is_long_is_cut(there, said):
    found = list(differences(there, {"a": 1}))
    assert len(found) == len(said)
    assert all(one.startswith(own) for one, own in zip(found, said, strict=True))


# The hash of tensors

STATE = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([[1], [2]])}


@pytest.mark.parametrize(
    "other",
    [
        {**STATE, "a": torch.tensor([1.0, 2.0], dtype=torch.float64)},
        {**STATE, "a": STATE["a"].view(torch.int32)},
        {**STATE, "a": torch.tensor([[1.0, 2.0]])},
        {**STATE, "b": torch.tensor([[1, 2]])},
        {**STATE, "a": torch.tensor([1.0, 2.0]).nextafter(torch.tensor(9.0))},
        {**STATE, "a": torch.tensor([2.0, 1.0])},
        {**STATE, "c": torch.tensor([])},
        {"a": STATE["a"]},
        {"a": STATE["b"], "b": STATE["a"]},
        {"a": STATE["a"], "c": STATE["b"]},
    ],
)
def test_the_hash_of_tensors_tells_names_types_shapes_and_every_bit(other):
    assert tensor_hash(other) != tensor_hash(STATE)


def test_the_hash_of_tensors_does_not_tell_how_they_lie_in_memory():
    column = torch.tensor([[1, 0], [2, 0]])[:, :1]
    assert not column.is_contiguous()
    shuffled = {"b": column, "a": STATE["a"].clone().requires_grad_()}
    assert tensor_hash(shuffled) == tensor_hash(STATE)
    zeros = {"x": torch.tensor([0.0]), "y": torch.tensor(True), "z": torch.tensor([])}
    assert tensor_hash({**zeros, "x": torch.tensor([-0.0])}) != tensor_hash(zeros)


# Two jobs have one fingerprint if, and only if, all that their results come from is one

OTHER = {
    "epochs": 6,
    "batch_size": 63,
    "optimizer": "sgd",
    "learning_rate": 1,
    "init": "torch",
    "precision": "bf16",
}
RECIPE = {field.name: getattr(Recipe(), field.name) for field in fields(Recipe)}
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
    """Yield each job's fingerprint, and independently of it all that its results come from."""
    own = check_study(raw, "tiny")
    whole = made_setup(own, stream, torch.device(device))
    training = {**RECIPE, **raw["training"]}
    retraining = {**RECIPE, **raw["retraining"]} if "retraining" in raw else training
    for job in jobs_of(own, len(stream.tasks)):
        table = raw["learners"][job.learner]
        given = {name: value for name, value in table.items() if name not in ("training", "kind")}
        defaults = {name: field.default for name, field in type_of_settings(job.kind).items()}
        usual = defaults["training"].model_dump(exclude_none=True) if defaults["training"] else {}
        offline, kind = job.kind == "offline", LEARNERS[job.kind]
        source = {
            "executed": [(made, task) for task in job.tasks],
            "network": raw["network"]["name"] if not kind.own_features else "its own",
            "recipe": {**training, **table.get("training", usual)},
            "settings": {**defaults, **given, "training": None, "kind": job.kind},
            "seed": job.seed,
            "retrained": None if offline else (retraining, raw["storage"]),
            "device": device.partition(":")[0],
        }
        yield fingerprint(whole.record(job)), source


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
def test_jobs_have_one_fingerprint_if_they_have_one_result(
    first, second, agree, stream, other, device, another
):
    """Settings count, used or not; the processor and this package's code do not."""
    jobs = [
        *everything(first, *stream, device),
        *everything(both(first, second, agree), *other, another),
    ]
    for own, source in jobs:
        for of_another, its_source in jobs:
            assert (own == of_another) == (source == its_source)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(raws(), st.text(max_size=5), st.sampled_from(["split", "permutation"]))
def test_what_a_scenario_and_its_tasks_are_called_changes_nothing(raw, name, kind):
    stream, made = scenario(), {}
    called = Scenario(
        name=name, kind=kind, tasks=tuple(replace(t, name=f"{name} {t.name}") for t in stream.tasks)
    )
    jobs = everything(raw, stream, made, "cpu"), everything(raw, called, made, "cpu")
    for (own, _), (of_another, _) in zip(*jobs, strict=True):
        assert own == of_another
