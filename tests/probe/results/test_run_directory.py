"""The run directory: its latest plan, and how far each job of it is."""

from dataclasses import replace

import numpy as np
import pytest

from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.measurement import Key
from probe.errors import InputError
from probe.results.run_directory import (
    describe,
    read_plan,
    refuse_foreign,
    remarks,
    store_of,
    survey,
)
from scenarios.study.study_file import check_study
from tests.scenarios.study.toy import (
    MEASURED,
    RAW,
    made_plan,
    scenario,
    truncated,
)


def tiny(stream=None, **changes):
    """Return a plan without a floor: two jobs, of one order each."""
    plain = {
        **RAW,
        "orders": "none",
        "probing": {"readouts": {"retrain": "last"}},
    }
    return made_plan(check_study(plain | changes, "tiny"), stream)


TINY = tiny()


def test_a_description_reads_back_and_is_replaced_by_the_next(tmp_path):
    for plan in (TINY, tiny(scenario(seed=1), seeds=2)):
        describe(tmp_path, plan)
        assert read_plan(tmp_path) == plan
        assert [path.name for path in tmp_path.iterdir()] == ["study.json"]


@pytest.mark.parametrize(
    "present",
    # Of a run that has just begun, or was killed just then; with its description lost
    # or corrupt.
    [
        "",
        "lock study.json.0123abcd.tmp",
        "study.json thesis.txt",
        "jobs/x",
        "study.json jobs/x",
    ],
)
def test_a_directory_of_a_study_is_not_foreign(tmp_path, present):
    for name in present.split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"name": "ti')
    refuse_foreign(tmp_path)
    refuse_foreign(tmp_path / "absent")


@pytest.mark.parametrize("content", [b"\xff", b"[" * 10**5, b'{"plan": {}}'])
def test_a_corrupt_description_is_refused_and_written_anew_by_a_run(tmp_path, content):
    (tmp_path / "study.json").write_bytes(content)
    with pytest.raises(
        InputError, match=r"study.json is corrupt.*: start its `probe run` again"
    ):
        read_plan(tmp_path)
    assert (tmp_path / "study.json").read_bytes() == content
    refuse_foreign(tmp_path)
    describe(tmp_path, TINY)
    assert read_plan(tmp_path) == TINY


def keep(plan, root, job, *keys):
    store = store_of(plan, root, job)
    for key in keys:
        store.write(key, replace(MEASURED, predicted={"single": np.arange(5)}))
    return store


def test_predictions_of_classes_that_do_not_exist_are_corrupt(tmp_path):
    store = store_of(TINY, tmp_path, jobs_of(TINY)[0])
    store.write(Key(0), MEASURED)
    assert next(iter(survey(TINY, tmp_path))).corrupt
    assert not store.measurements()


def test_a_survey_counts_what_is_finished_and_names_what_is_corrupt(tmp_path):
    finetune, er = jobs_of(TINY)
    unheard_of, retrained = (
        Key.parse(2, feature, "retrain") for feature in ("unheard-of", "conv1")
    )
    store = keep(
        TINY,
        tmp_path,
        finetune,
        Key(0),
        Key(1),
        unheard_of,
        retrained,
        Key(2),
    )
    files = store.folder.glob("predictions.1-*")
    last = max(files, key=lambda path: path.stat().st_mtime_ns)
    truncated(last)
    before = sorted(tmp_path.rglob("*"))
    first, second = survey(TINY, tmp_path)
    assert (first.job, first.measurements, first.done) == (
        finetune,
        len(keys_of(TINY, er)),
        3,
    )
    assert (first.corrupt, first.other_code, first.others) == ((last.name,), False, ())
    assert (second.job, second.done, second.corrupt) == (er, 0, ())
    assert sorted(tmp_path.rglob("*")) == before
    assert list(remarks(tmp_path, survey(TINY, tmp_path))) == []


def test_the_same_measurements_of_other_settings_are_other_results(tmp_path):
    results = []
    for epochs in (1, 2):
        plan = tiny(training={"epochs": epochs})
        keep(plan, tmp_path, jobs_of(plan)[0], Key(0))
        results += [state.results for state in survey(plan, tmp_path)[:1]]
    assert results[0] != results[1]
