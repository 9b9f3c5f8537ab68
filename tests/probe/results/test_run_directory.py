"""What a run directory says of itself: its latest study, and how far each job of it is."""

import json

import pytest

from probe.by_layer.probing import ProbingSpec
from probe.errors import InputError
from scenarios.study import run_directory
from probe.by_layer.jobs import jobs_of, parts_of
from probe.by_layer.measurement import Measurement
from probe.by_layer.probing import ProbingSpec
from probe.results.run_directory import (
from probe.by_layer.jobs import jobs_of, parts_of
from probe.by_layer.measurement import Measurement
from probe.results.run_directory import (
    describe,
    read_setup,
    refuse_foreign,
    remarks,
    store_of,
    survey,
)
from tests.scenarios.study.toy_setup import CHANGES, made_setup, scenario, study
from tests.scenarios.study.toy_store import COUNTS, truncated

# No floor: two jobs, of one order each.
PLAIN = {"readouts": {"retrain": "last"}}
TINY = made_setup(
    study(None, "orders", "none").model_copy(update={"probing": ProbingSpec.model_validate(PLAIN)})
)


def all_remarks(setup, root):
    return list(remarks(root, survey(setup, root)))


# The description


@pytest.mark.parametrize(("table", "name", "value"), CHANGES)
def test_every_study_reads_back_from_its_directory(tmp_path, table, name, value):
    mine = made_setup(study(table, name, value))
    describe(tmp_path, mine)
    assert read_setup(tmp_path) == mine
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"]


def test_a_description_says_what_a_study_was_run_with_and_is_replaced_by_the_next(tmp_path):
    describe(tmp_path, made_setup())
    record = json.loads((tmp_path / "study.json").read_bytes())
    assert (record["name"], record["device"], record["version"]) == ("tiny", "cpu", 1)
    assert record["tasks"] == [
        {"name": "0-1", "classes": [0, 1]},
        {"name": "2-3", "classes": [2, 3]},
    ]
    other = made_setup(study(None, "seeds", 2), scenario(seed=1))
    describe(tmp_path, other)
    assert read_setup(tmp_path) == other


@pytest.mark.parametrize("present", [["thesis.txt"], ["rows.csv", "lock"], ["other/study.json"]])
def test_a_directory_that_holds_something_else_is_refused(tmp_path, present):
    for name in present:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    with pytest.raises(InputError, match="is not empty and holds no study: choose another --out"):
        refuse_foreign(tmp_path)


@pytest.mark.parametrize(
    "present",
    [
        [],
        # Of a run that has begun just now, or was killed just then.
        ["lock"],
        ["lock", "study.json.0123abcd.tmp"],
        ["study.json", "thesis.txt"],
        # Its description may be lost or corrupt: it is written anew.
        ["jobs/x"],
        ["study.json", "jobs/x"],
    ],
)
def test_a_directory_of_a_study_is_not(tmp_path, present):
    for name in present:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"name": "ti')
    refuse_foreign(tmp_path)
    refuse_foreign(tmp_path / "absent")


def test_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot use .*file \(Not a directory\): choose another"):
        refuse_foreign(tmp_path / "file")


@pytest.mark.parametrize("use", [refuse_foreign, read_setup])
def test_a_directory_of_an_earlier_version_is_refused(tmp_path, use):
    describe(tmp_path, made_setup())
    path = tmp_path / "study.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "format": 8}))
    with pytest.raises(
        InputError, match=r"an earlier version .*: run its study again with another"
    ):
        use(tmp_path)


NOT_A_STUDY = [
    *[{"study": []}, {"study": {}}, {"study": None}, {"tasks": 3}, {"tasks": [{}]}],
    *[{"name": None}, {"report": None}, {"report": {"heads": []}}],
]


@pytest.mark.parametrize("changes", NOT_A_STUDY)
def test_a_description_of_no_study_is_refused_and_left(tmp_path, changes):
    describe(tmp_path, made_setup())
    path = tmp_path / "study.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}))
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"study.json is corrupt: start its `probe run` again"):
        read_setup(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff", b"null", b"[" * 10**5])
def test_a_corrupt_description_is_refused_and_written_anew_by_a_run(tmp_path, content):
    (tmp_path / "study.json").write_bytes(content)
    with pytest.raises(InputError, match=r"study.json is corrupt"):
        read_setup(tmp_path)
    refuse_foreign(tmp_path)
    describe(tmp_path, made_setup())
    assert read_setup(tmp_path) == made_setup()


def test_a_directory_without_a_study_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match=f"{folder} holds no study .*name the directory of"):
            read_setup(folder)


# How far each job is


def keep(setup, root, job, *parts):
    store = store_of(setup, root, job)
    for part in parts:
        heads = COUNTS if part.startswith("step-") else {"single": COUNTS["single"]}
        store.write(part, Measurement(counts=heads))
    return store


def test_a_survey_counts_what_is_finished_and_names_what_is_corrupt(tmp_path):
    finetune, er = jobs_of(TINY.study, 2)
    keep(TINY, tmp_path, finetune, "step-0", "step-1", "feature-conv1", "feature-unheard-of")
    truncated(store_of(TINY, tmp_path, finetune).folder / "step-1.json")
    before = sorted(tmp_path.rglob("*"))
    first, second = survey(TINY, tmp_path)
    assert (first.job, first.parts, first.done) == (finetune, len(parts_of(TINY.study, er)), 2)
    assert (first.corrupt, first.other_code, first.others) == (("step-1",), False, ())
    assert (second.job, second.done, second.corrupt) == (er, 0, ())
    assert sorted(tmp_path.rglob("*")) == before
    assert all_remarks(TINY, tmp_path) == []


def test_jobs_of_other_code_are_counted_and_the_first_is_named(tmp_path, monkeypatch):
    for job in jobs_of(TINY.study, 2):
        keep(TINY, tmp_path, job, "step-0")
    monkeypatch.setattr(run_directory, "code_hash", lambda kind: "new")
    [both] = all_remarks(TINY, tmp_path)
    assert "2 jobs of 2 were made by other code than today's (finetune.order-0.seed-0, ...)" in both


def test_results_of_other_fingerprints_are_told_in_one_sentence_each_difference_once(tmp_path):
    others = [
        made_setup(
            study("training", "epochs", 6).model_copy(
                update={"orders": "none", "probing": TINY.study.probing}
            )
        ),
        made_setup(TINY.study, scenario(seed=1)),
        made_setup(
            study("learners", "er", {"memory_per_class": 9}).model_copy(
                update={"probing": TINY.study.probing}
            ),
        ),
    ]
    for other in others:
        for job in jobs_of(other.study, 2):
            keep(other, tmp_path, job, "step-0")
    [one] = all_remarks(TINY, tmp_path)
    beginning, _, told = one.partition(": ")
    assert beginning == "other results of 2 jobs are kept aside and not shown"
    differences = told.split("; ")
    assert "training.epochs is 6 there and 5 here" in differences
    assert "learner.memory_per_class is 9 there and 128 here" in differences
    assert len(set(differences)) == len(differences)
    assert sum(each.startswith('data is "') for each in differences) == 1


def test_a_folder_without_results_is_none_of_others(tmp_path):
    """As one is that was begun under other settings and stopped at once."""
    other = made_setup(study("training", "epochs", 6))
    for job in jobs_of(other.study, 2):
        (keep(other, tmp_path, job, "step-0").folder / "step-0.json").unlink()
    assert all_remarks(TINY, tmp_path) == []
