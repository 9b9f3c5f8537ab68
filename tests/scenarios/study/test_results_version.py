"""Our results have a version: it is raised when a tiny study of every learner gives others.

The golden results are counts and, as counts are coarse, the sum of all that is in a
learner's last checkpoint: a job that another version began goes on from there. In
float64 both are the same on every machine. `python -m
tests.scenarios.study.test_results_version` writes them anew.
"""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from probe.by_layer.fingerprint import RESULTS_VERSION
from probe.metrics.counts import Counts
from probe.retrain import retrain_each
from probe.retraining import RetrainSettings
from scenarios.learners.catalog import LEARNERS
from tests.scenarios.learners.tiny_study import (
    CLASSES,
    RECIPE,
    scenario_of_digits,
    tiny_study,
)

GOLDEN = Path(__file__).with_name("golden_counts.json")
ANEW = "`python -m tests.scenarios.study.test_results_version`"
RETRAININGS = {
    "retraining": RECIPE,
    "retraining by nadam": replace(RECIPE, optimizer="nadam"),
    "retraining by sgd from Murata's weights": replace(
        RECIPE, optimizer="sgd", learning_rate=0.1, init="murata"
    ),
}


# One that learns nothing has no results of its own.
NAMES = [*(kind for kind in LEARNERS if kind != "untrained"), *RETRAININGS]


def results(names):
    """Return the results of this version, in the form of the golden ones."""
    counts = {}
    sums = {}
    for name in names:
        if name in RETRAININGS:
            counts[name] = list(_retrained(name))
            continue
        counts[name], own = tiny_study(name)
        learned = [*own.model.state_dict().values(), *own.state().values()]
        sums[name] = sum(float(each.double().abs().sum()) for each in learned)
    return {"version": RESULTS_VERSION, "counts": counts, "sums": sums}


def _retrained(name):
    _, own = tiny_study("finetune")
    whole = scenario_of_digits().merged
    features = ("hidden1", "hidden2")
    train = whole.train
    test = whole.test
    how = RetrainSettings(recipe=RETRAININGS[name])
    for found in retrain_each(own.model, features, train, test, CLASSES, how):
        yield Counts.of(test.y, found.predicted, CLASSES).table.tolist()


def changes(here):
    """Return the names that have other results than the golden ones; a new learner has none."""
    golden = json.loads(GOLDEN.read_bytes())
    one = golden["counts"]
    other = here["counts"]
    changed = {name for name in one.keys() & other.keys() if one[name] != other[name]}
    one = golden["sums"]
    other = here["sums"]
    both = one.keys() & other.keys()
    return sorted(
        changed | {n for n in both if not math.isclose(one[n], other[n], rel_tol=1e-7)}
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_results_are_those_of_the_version(name):
    version = json.loads(GOLDEN.read_bytes())["version"]
    assert version == RESULTS_VERSION, f"write the golden results anew: {ANEW}"
    assert not changes(results([name])), (
        f"the results of {name} have changed: raise RESULTS_VERSION in "
        "probe/by_layer/fingerprint.py and write the golden results anew with "
        f"{ANEW}; or, if no result was to change, find the cause"
    )


def write():
    """Write the golden results, with new learners; refuse to if others change without version."""
    torch.set_num_threads(1)
    here = results(NAMES)
    golden = json.loads(GOLDEN.read_bytes())
    if golden["version"] == RESULTS_VERSION:
        if changes(here):
            sys.exit("the results have changed: raise RESULTS_VERSION")
        # As they are, to the last bit.
        here["sums"] |= {
            n: own for n, own in golden["sums"].items() if n in here["sums"]
        }
    # A line for each learner, so that a change shows which are concerned.
    GOLDEN.write_text(json.dumps(here).replace(', "', ',\n"') + "\n")


if __name__ == "__main__":
    write()
