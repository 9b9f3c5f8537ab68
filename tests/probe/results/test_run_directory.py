"""The run directory: its latest plan, and how far each job of it is."""

import json

import pytest

from probe.by_layer.jobs import jobs_of, parts_of
from probe.by_layer.measurement import Measurement
from probe.errors import InputError
from probe.results.run_directory import (
    describe,
    read_plan,
    refuse_foreign,
    remarks,
    store_of,
    survey,
)
from scenarios.study.source import check_study
from tests.scenarios.study.toy import COUNTS, MEASURED, RAW, changed, made_plan, scenario, truncated


def tiny(*change, stream=None):
    """Return a plan without a floor: two jobs, of one order each."""
    plain = {**RAW, "orders": "none", "probing": {"readouts": {"retrain": "last"}}}
    return made_plan(check_study(changed(*change, plain) if change else plain, "tiny"), stream)


TINY = tiny()


def all_remarks(plan, root):
    return list(remarks(root, survey(plan, root)))


def damage(root, **changes):
    path = root / "study.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}))


def test_a_description_reads_back_and_is_replaced_by_the_next(tmp_path):
    for plan in (TINY, tiny(None, "seeds", 2, stream=scenario(seed=1))):
        describe(tmp_path, plan)
        assert read_plan(tmp_path) == plan
        assert [path.name for path in tmp_path.iterdir()] == ["study.json"]


@pytest.mark.parametrize(
    "present",
    # Of a run that has just begun, or was killed just then; with its description lost or corrupt.
    ["", "lock study.json.0123abcd.tmp", "study.json thesis.txt", "jobs/x", "study.json jobs/x"],
)
def test_a_directory_of_a_study_is_not_foreign(tmp_path, present):
    for name in present.split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"name": "ti')
    refuse_foreign(tmp_path)
    refuse_foreign(tmp_path / "absent")


@pytest.mark.parametrize("use", [refuse_foreign, read_plan])
def test_a_directory_of_an_earlier_version_is_refused(tmp_path, use):
    describe(tmp_path, TINY)
    damage(tmp_path, format=8)
    with pytest.raises(InputError, match=r"an earlier version"):
        use(tmp_path)


def keep(plan, root, job, *parts):
    store = store_of(plan, root, job)
    for part in parts:
        heads = COUNTS if part.startswith("step-") else {"single": COUNTS["single"]}
        store.write(part, Measurement(counts=heads, right=MEASURED.right))
    return store


def test_a_survey_counts_what_is_finished_and_names_what_is_corrupt(tmp_path):
    finetune, er = jobs_of(TINY)
    keep(TINY, tmp_path, finetune, "step-0", "step-1", "feature-conv1", "feature-unheard-of")
    truncated(store_of(TINY, tmp_path, finetune).folder / "step-1.json")
    before = sorted(tmp_path.rglob("*"))
    first, second = survey(TINY, tmp_path)
    assert (first.job, first.parts, first.done) == (finetune, len(parts_of(TINY, er)), 2)
    assert (first.corrupt, first.other_code, first.others) == (("step-1",), False, ())
    assert (second.job, second.done, second.corrupt) == (er, 0, ())
    assert sorted(tmp_path.rglob("*")) == before
    assert all_remarks(TINY, tmp_path) == []


def test_results_of_other_fingerprints_are_told_in_one_sentence_each_difference_once(tmp_path):
    for other in (tiny("training", "epochs", 6), tiny(stream=scenario(seed=1))):
        for job in jobs_of(other):
            keep(other, tmp_path, job, "step-0")
    # Not those of folders without results, as of a run that was stopped at once.
    (keep(tiny("training", "epochs", 7), tmp_path, job, "step-0").folder / "step-0.json").unlink()
    [one] = all_remarks(TINY, tmp_path)
    beginning, _, told = one.partition(": ")
    assert beginning == "other results of 2 jobs are kept but not shown"
    differences = told.split("; ")
    assert "training.epochs is 6 there and 5 here" in differences
    assert len(set(differences)) == len(differences)
    assert sum(each.startswith('data is "') for each in differences) == 1
    assert "is 7 there" not in told
