"""Fingerprints: whatever can change a job's result changes its own, and nothing else does."""

from dataclasses import fields, replace

import pytest
import torch

from probe.batch import tensor_hash
from probe.by_layer.fingerprint import RESULTS_VERSION, fingerprint
from probe.by_layer.jobs import jobs_of
from probe.tasks import Scenario
from probe.training.recipe import Recipe, RecipeChanges
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.exemplars import ExemplarSettings
from scenarios.study.spec import NetworkSpec, Study
from scenarios.study.study_file import check_study
from tests.scenarios.study.toy import (
    CHANGES,
    CPU,
    RAW,
    fingerprints,
    made_plan,
    record_of,
    scenario,
    study,
)

# Names, reports, the choice of jobs and features, and where the data come from change
# no result.
FREE = {"name", "report", "scenario", "orders", "seeds", "features", "probing"}


@pytest.mark.parametrize(("table", "name", "value"), CHANGES)
def test_whatever_can_change_a_result_changes_the_fingerprint(table, name, value):
    before, after = fingerprints(), fingerprints(study(table, name, value))
    # The network's name is not the study's.
    free = bool({table, name} & FREE) and (table, name) != ("network", "name")
    same_recipe_twice = (table, name, value) == (None, "retraining", {})
    for job in before.keys() & after.keys():
        concerned = (
            job[0] == name if table == "learners" else not (free or same_recipe_twice)
        )
        # Of the floor's tails the names of its parts tell.
        if job[0] == "untrained" and (table == "retraining" or name == "storage"):
            concerned = False
        assert (after[job] != before[job]) == concerned


def test_every_field_of_a_study_is_among_the_changes_tried():
    tried = {
        table: {name for own, name, _ in CHANGES if own == table}
        for table, *_ in CHANGES
    }
    assert tried["network"] == set(NetworkSpec.model_fields)
    assert (
        tried["training"]
        == tried["retraining"]
        == {field.name for field in fields(Recipe)}
    )
    assert tried.keys() | tried[None] == set(Study.model_fields) | {None}
    of_learners = [value for table, _, value in CHANGES if table == "learners"]
    for kind in ("er", "finetune"):
        named = {field for _, name, value in CHANGES if name == kind for field in value}
        # Its exemplars are its memory: it takes no others.
        fixed = {"kind", "exemplars"} if kind == "er" else {"kind"}
        assert named | fixed == set(LEARNERS[kind].settings_class.model_fields)
    for name, known in (
        ("exemplars", set(ExemplarSettings.model_fields)),
        ("training", {field.name for field in fields(RecipeChanges)}),
    ):
        assert {
            field for value in of_learners for field in value.get(name, ())
        } == known


def test_no_two_jobs_of_a_study_have_the_same_fingerprint():
    """Not even where two tasks have the same classes, as permuted ones do."""
    task = scenario().tasks[0]
    twins = Scenario(
        name="twins", kind="permutation", tasks=(task, replace(task, index=2))
    )
    for stream in (scenario(), twins):
        everything = fingerprints(study(None, "seeds", 3), stream)
        # Two learners with two orders each, and the floor.
        assert len(set(everything.values())) == len(everything) == (2 * 2 + 1) * 3


def none_is_kept(stream=None, device=CPU):
    """Whether other data or another device leave no fingerprint of the study above."""
    other = fingerprints(stream=stream, device=device)
    return not set(other.values()) & set(fingerprints().values())


@pytest.mark.parametrize("half", ["train", "test"])
def test_a_pixel_or_a_label_changes_every_fingerprint(half):
    pixel, label = scenario(), scenario()
    x = getattr(pixel.tasks[1], half).x[0, 0, 0, 0]
    x.copy_(torch.nextafter(x, torch.tensor(2.0)))
    getattr(label.tasks[1], half).y[0] = 3
    assert none_is_kept(pixel)
    assert none_is_kept(label)


def test_so_do_other_cuts_and_orders_of_the_data_and_another_kind_of_device():
    cut = scenario(tasks=((0,), (1,), (2,), (3,)))
    for other in (cut, scenario().reordered([1, 0]), scenario(labels=(1, 0, 2, 3))):
        assert none_is_kept(other)
    one, two = (torch.device("cuda", number) for number in (0, 1))
    assert none_is_kept(device=one)
    assert fingerprints(device=one) == fingerprints(device=two)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("torch.__version__", "9.9"),
        ("probe.by_layer.plan.RESULTS_VERSION", RESULTS_VERSION + 1),
    ],
)
def test_another_torch_or_version_of_our_results_changes_every_fingerprint(
    monkeypatch, name, other
):
    before = fingerprints()
    monkeypatch.setattr(name, other)
    assert not set(fingerprints().values()) & set(before.values())


@pytest.mark.parametrize("table", ["training", "retraining"])
def test_later_settings_of_recipes_count_only_where_they_are_not_the_default(table):
    """The defaults, said or not, give the fingerprints of results that people have."""
    before = fingerprints(check_study({**RAW, table: {"optimizer": "sgd"}}, "tiny"))
    later = {"weight_decay": 0.1, "momentum": 0.9, "schedule": "cosine", "warmup": 0.1}
    for name, value in {**later, "clip_norm": 1.0}.items():
        default = getattr(Recipe(), name)
        said = {} if default is None else {name: default}
        for own, same in ((said, True), ({name: value}, False)):
            raw = {**RAW, table: {"optimizer": "sgd", **own}}
            assert (fingerprints(check_study(raw, "tiny")) == before) == same


PINNED = {
    "finetune.order-0.seed-0": (
        "ffdb78ee4d081288952e3c0ec4ff2eabc26421f7bae0c42ccdec60de240770ed"
    ),
    "er.order-1.seed-0": (
        "96e9b10ee9391826fc104971ba2659373149ba6911350fb258f58fd70b53c771"
    ),
}


def test_fingerprints_of_stored_results_stay():
    """Computed by the code of version 7 of our results, with another number for the version."""
    plan = made_plan().model_copy(update={"data": "d", "torch": "t"})
    for version, same in ((1, True), (2, False)):
        found = {
            job.name: fingerprint({**record_of(plan, job), "version": version})
            for job in jobs_of(plan)
        }
        assert ({name: found[name] for name in PINNED} == PINNED) == same


STATE = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([[1], [2]])}


@pytest.mark.parametrize(
    "other",
    [
        {**STATE, "a": torch.tensor([1.0, 2.0], dtype=torch.float64)},
        {**STATE, "b": torch.tensor([[1, 2]])},
        {**STATE, "a": torch.tensor([1.0, 2.0]).nextafter(torch.tensor(9.0))},
        {**STATE, "c": torch.tensor([])},
        {"a": STATE["b"], "b": STATE["a"]},
        {"a": STATE["a"], "c": STATE["b"]},
    ],
)
def test_the_hash_of_tensors_tells_names_types_shapes_and_every_bit(other):
    assert tensor_hash(other) != tensor_hash(STATE)


def test_the_hash_of_tensors_does_not_tell_their_layout_in_memory():
    column = torch.tensor([[1, 0], [2, 0]])[:, :1]
    assert not column.is_contiguous()
    shuffled = {"b": column, "a": STATE["a"].clone().requires_grad_()}
    assert tensor_hash(shuffled) == tensor_hash(STATE)
    assert tensor_hash({"x": torch.tensor([-0.0])}) != tensor_hash(
        {"x": torch.tensor([0.0])}
    )
