"""User-defined readouts and metrics of a study: one class or function in a file."""

import math
import re
import sys
from contextlib import ExitStack
from itertools import count

import pytest

from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.plan import Plan
from probe.errors import InputError
from probe.metrics.matrix import AccuracyMatrix
from probe.registered import OwnMetric
from probe.results.scores import user_scores
from scenarios.own_code import loaded
from scenarios.study.planning import OURS
from scenarios.study.source import check_study
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
    return loaded([str(file)], OURS)


def of(table):
    return check_study({**RAW, "probing": {"readouts": {"constant": table}}}, "s.toml")


def keys(plan):
    return {k for job in jobs_of(plan) for k in keys_of(plan, job) if k.readout == "constant"}


def test_a_readout_is_known_while_its_file_is_loaded_and_its_results_by_settings_and_source(
    tmp_path,
):
    plans = []
    for label, source in ((0, SOURCE), (1, SOURCE), (0, SOURCE.replace("new_full", "new_tensor"))):
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"constant", steps="last"', '"linear"'), "there are two readouts 'linear'"),
        (('"constant"', '"retrain-2"'), "does not begin with retrain"),
        (('"constant"', '"a+bn"'), "has letters, digits, _ and -"),
        (('steps="last"', 'steps="end"'), "unknown rule for steps 'end'"),
        (("def predict", "def read"), "mark a class that has predict"),
        (("label: int", "steps: int"), "has a setting steps"),
    ],
)
def test_a_mark_that_cannot_be_is_refused(tmp_path, change, message):
    with ExitStack() as opening, pytest.raises(InputError, match=message):
        opening.enter_context(opened(tmp_path, SOURCE.replace(*change)))


class Mute(Exception):
    def __str__(self):
        raise RuntimeError


def mute(R):
    raise Mute


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (lambda R: sys.exit(0), r"test_own\.py, line \d+, ends the process \(SystemExit: 0\)"),
        (lambda R: -3e16, r"gave -3e\+16, expected a number of 5e\+14 at most"),
        (lambda R: math.nan, "gave nan"),
        (mute, "raised Mute"),
    ],
)
def test_a_metric_that_gives_no_number_is_noted_and_the_others_are_there(score, said):
    metrics = [OwnMetric(name="bad", score=score), OwnMetric(name="good", score=lambda R: 1.0)]
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
    assert {row["mean"] for row in metrics(root) if row["metric"] == "mine"} == {"0.5"}
    own.written(NETWORK.replace("nn.ReLU()", "nn.ELU()") + METRIC)
    assert {len(each) for each in folders(own.run(**few)).values()} == {2}
