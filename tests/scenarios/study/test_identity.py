"""Whose results are: whatever can change a result changes the identity, and nothing else does."""

from dataclasses import fields

import pytest
import torch
from scenarios.study.identity import read_identity

from probe.training.loop import Recipe
from scenarios.learners.base import RecipeChanges
from scenarios.learners.exemplars import ExemplarSettings
from scenarios.learners.finetune import FinetuneSettings
from scenarios.learners.replay.er import ErSettings
from scenarios.study.reading import check_study
from scenarios.study.scenario_spec import SplitSpec
from scenarios.study.spec import NetworkSpec, Study
from tests.scenarios.study.toy_identity import (
    CHANGES,
    FREE,
    KINDS,
    RAW,
    identities,
    identity,
    scenario,
    study,
)

# What of a study says only which jobs there are, where the data come from (they are what counts),
# or what is measured beside: a job has the same results with any of it.
CHOICES = {"scenario", "orders", "seeds", "features"}


@pytest.mark.parametrize(("table", "name", "value"), CHANGES)
def test_whatever_can_change_a_result_changes_the_identity(table, name, value):
    """And what only chooses jobs, leaves those that there were before as they are."""
    before, after = identities(), identities(study(table, name, value))
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


def test_no_two_jobs_of_a_study_have_the_same_identity():
    everything = study(None, "seeds", 3)
    assert len(set(identities(everything).values())) == len(identities(everything)) == 2 * 2 * 3


def test_every_field_of_a_study_is_among_these_changes():
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
    for kind, settings in (("er", ErSettings), ("finetune", FinetuneSettings)):
        named = {field for _, name, value in CHANGES if name == kind for field in value}
        # Its exemplars are its memory: it takes no others.
        fixed = {"kind", "exemplars"} if kind == "er" else {"kind"}
        assert named | fixed == set(settings.model_fields)
    exemplars = [v["exemplars"] for _, _, v in CHANGES if isinstance(v, dict) and "exemplars" in v]
    assert {field for each in exemplars for field in each} == set(ExemplarSettings.model_fields)
    trained = [v["training"] for _, _, v in CHANGES if isinstance(v, dict) and "training" in v]
    assert {field for each in trained for field in each} == set(RecipeChanges.model_fields)
    own = {name for table, name in changed if not table} | {table for table, _ in changed if table}
    assert own == set(Study.model_fields) - {"name", "report"}


@pytest.mark.parametrize(("name", "value"), FREE)
def test_the_name_and_the_report_change_nothing_and_read_back(tmp_path, name, value):
    other = study(None, name, value)
    assert identities(other) == identities()
    assert other != study()
    identity(other).claim(tmp_path)
    assert read_identity(tmp_path) == identity(other)


def test_the_same_study_has_the_same_identities_each_time():
    assert identities() == identities()
    assert identities(study("scenario", "kind", "split")) == identities()
    reordered = check_study(dict(reversed(RAW.items())), "tiny")
    assert identities(reordered) == identities()


@pytest.mark.parametrize("half", ["train", "test"])
def test_a_pixel_or_a_label_changes_every_identity(half):
    for change in ("x", "y"):
        stream = scenario()
        part = getattr(stream.tasks[1], half)
        if change == "x":
            pixel = part.x[0, 0, 0, 0]
            pixel.copy_(torch.nextafter(pixel, torch.tensor(2.0)))
        else:
            part.y[0] = 3
        assert not set(identities(stream=stream).values()) & set(identities().values())


def test_how_the_data_are_cut_and_ordered_changes_every_identity():
    for other in (scenario(size=1), scenario().reordered([1, 0]), scenario(labels=(1, 0, 2, 3))):
        assert not set(identities(stream=other).values()) & set(identities().values())


def test_the_kind_of_device_changes_it_and_its_number_does_not():
    first, second = (identities(device=torch.device("cuda", k)) for k in (0, 1))
    assert first == second
    assert not set(first.values()) & set(identities().values())
