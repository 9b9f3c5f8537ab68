"""A study with networks that never saw a task, and with readouts of permuted labels."""

import numpy as np
import pytest

from probe.results.run_directory import read_plan
from probe.results.tables import read_predictions
from tests.scenarios.probed import names, rows, tables
from tests.scenarios.tiny_run import PROBED, Tiny, measured

STUDY = (
    PROBED.replace("[probing]\n", "[probing]\nreadouts.linear = 'all'\n")
    .replace("classes_per_task = 5", "tasks = [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9]]")
    .replace("there = [1, 2]", "back = [3, 1, 2]")
)
T = 3
SIZES = [15, 15, 20]


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """The study with controls, and tables and measurements from before them."""
    tiny = Tiny(tmp_path_factory.mktemp("controls") / "tiny").ran(STUDY)
    before = tables(tiny)
    stored = measured(tiny.root)
    tiny.ran(STUDY, controls="exclusion,labels")
    return tiny, before, stored


@pytest.fixture(scope="module")
def predictions(grown):
    return read_predictions(read_plan(grown[0].root), grown[0].root)


@pytest.fixture(scope="module")
def jobs(predictions):
    return [job for job in predictions.jobs if job.learner == "finetune"]


def test_controls_are_added_and_enter_no_other_table(grown):
    tiny, before, stored = grown
    after = tables(tiny)
    assert after == before | {"controls.csv": after["controls.csv"]}
    assert stored.items() < measured(tiny.root).items()
    # The last network alone, without diagnostics.
    apart = (
        f"finetune.order-back.without-{task_position}.seed-0"
        for task_position in range(1, T + 1)
    )
    last = {job: own for job, own in names(tiny, stored).items() if "without" in job}
    assert last == {
        job: {f"output after {T}", f"linear of hidden1 after {T}"} for job in apart
    }
    learners = [
        row["learner"] for row in rows(tiny, "controls", quantity="selectivity")
    ]
    assert learners == ["finetune", "offline", "untrained"]


def test_without_the_last_task_it_is_the_network_before_that_task(predictions, jobs):
    """An exact control: R, and what is linearly there, example by example."""
    run = jobs[0]
    without_last = jobs[T]
    for feature in ("output", "hidden1"):
        row = predictions.rows(without_last, feature, "linear")[T]
        before = predictions.rows(run, feature, "linear")[T - 1]
        accuracy = predictions.accuracy[before]
        np.testing.assert_array_equal(predictions.accuracy[row], accuracy)
    np.testing.assert_array_equal(predictions.right[row], predictions.right[before])


@pytest.mark.parametrize("feature", ["hidden1", "output"])
def test_the_exclusion_difference_is_that_of_the_rows(
    grown, predictions, jobs, feature
):
    run, *others = (
        predictions.accuracy[predictions.at_end(job, feature, "linear")] for job in jobs
    )
    never = [own[task_position] for task_position, own in enumerate(others)]
    assert (never == [0] * T) == (feature == "output")
    here = {
        "learner": "finetune",
        "feature": feature,
        "quantity": "exclusion_difference",
    }
    found = {
        row["task_position"]: float(row["value"])
        for row in rows(grown[0], "controls", **here)
    }
    each = {str(task_position): own for task_position, own in enumerate(run - never, 1)}
    whole = np.average(run - never, weights=SIZES)
    assert found == pytest.approx({"": whole, **each}, abs=1e-12)
