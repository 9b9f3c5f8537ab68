"""User-defined readouts and metrics of a study: one class or function in a file."""

import math
import re
import sys
from itertools import count

import pytest

from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.plan import Plan
from probe.errors import InputError
from probe.extensions import MetricEntry
from probe.metrics.matrix import AccuracyMatrix
from probe.results.scores import user_scores
from scenarios.study.plan import BUILT_IN
from scenarios.study.study_file import check_study
from scenarios.user_code import loaded
from tests.scenarios.own_run import SOURCE as NETWORK, Own, folders, metrics, results
from tests.scenarios.study.toy import RAW, made_plan

NUMBER = count()
SOURCE = '''
import probe

@probe.readout("constant", steps="last")
class Constant:
    """Always the same class."""

    label: int = 0

    def predict(self, x, y, test, classes):
        return y.new_full((len(test),), self.label)
'''


def opened(tmp_path, source=SOURCE):
    """Load a file of a new name, as Python keeps modules by theirs."""
    file = tmp_path / f"mine{next(NUMBER)}.py"
    file.write_text(source)
    return loaded([str(file)], BUILT_IN)


def of(table):
    return check_study({**RAW, "probing": {"readouts": {"constant": table}}}, "s.toml")


def keys(plan):
    found = set()
    for job in jobs_of(plan):
        found |= {key for key in keys_of(plan, job) if str(key.readout) == "constant"}
    return found


def test_a_readout_is_known_while_its_file_is_loaded_and_its_results_by_settings_and_source(
    tmp_path,
):
    plans = []
    for label, source in (
        (0, SOURCE),
        (1, SOURCE),
        (0, SOURCE.replace("new_full", "new_tensor")),
    ):
        with opened(tmp_path, source):
            given = of({"label": label})
            assert given.probing.readouts["constant"].steps == "last"
            plans.append(made_plan(given))
    with pytest.raises(InputError, match=r"probing\.readouts\.constant: unknown key"):
        of({})
    # A description names its results without the file.
    names = [keys(Plan.model_validate_json(plan.model_dump_json())) for plan in plans]
    assert all(names)
    assert names[0].isdisjoint(names[1] | names[2])


class Mute(Exception):
    def __str__(self):
        raise RuntimeError


def mute(R):
    raise Mute


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (
            lambda R: sys.exit(0),
            r"test_own\.py, line \d+, ends the process \(SystemExit: 0\)",
        ),
        (lambda R: -3e16, r"gave -3e\+16, expected a number of 5e\+14 at most"),
        (lambda R: math.nan, "gave nan"),
        (mute, "raised Mute"),
    ],
)
def test_a_metric_that_gives_no_number_is_noted_and_the_others_are_there(score, said):
    metrics = [
        MetricEntry(name="bad", score=score),
        MetricEntry(name="good", score=lambda R: 1.0),
    ]
    values, [note] = user_scores(AccuracyMatrix([[0.5], [1.0]]), metrics)
    assert values == {"good": 1.0}
    assert re.search(f"the metric bad .*{said}", note)


METRIC = '\n@probe.metric("mine")\ndef mine(R):\n    return 0.25\n'


def test_an_edited_metric_costs_new_tables_and_no_training(tmp_path):
    own = Own(tmp_path).written(NETWORK + METRIC)
    few = {"seeds": 1, "learners": "finetune", "orders": "none"}
    before = results(root := own.run(**few))
    own.written(NETWORK + METRIC.replace("0.25", "0.5 + 0"))
    assert results(own.run(**few)) == before
    rows = [row for row in metrics(root) if row["metric"] == "mine"]
    assert {row["mean"] for row in rows} == {"0.5"}
    assert {row["feature"] for row in rows} > {
        ""
    }  # of R, and of the matrix of each feature
    own.written(NETWORK.replace("nn.ReLU()", "nn.ELU()") + METRIC)
    assert {len(each) for each in folders(own.run(**few)).values()} == {2}
