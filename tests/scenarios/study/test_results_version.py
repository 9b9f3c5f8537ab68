"""Our results have a version: it is raised when a tiny study of every learner gives others.

The golden results are counts and, as counts are coarse, the sum of all that is in a learner's last
checkpoint: a job that another version began goes on from there. In float64 both are the same on
every machine.
`python -m tests.scenarios.study.test_results_version` writes them anew.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

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
    Table,
    scenario_of_digits,
    tiny_study,
)

GOLDEN = Path(__file__).with_name("golden_counts.json")
VERSION = "RESULTS_VERSION in scenarios/study/fingerprint.py"
ANEW = "`python -m tests.scenarios.study.test_results_version`"
RETRAININGS = {
    "retraining": RECIPE,
    "retraining by nadam": replace(RECIPE, optimizer="nadam"),
    "retraining by sgd from Murata's weights": replace(
        RECIPE, optimizer="sgd", learning_rate=0.1, init="murata"
    ),
}


def results() -> dict[str, Any]:
    """Return the results of this version, in the form of the golden ones."""
    counts, sums = dict[str, list[Table]](), dict[str, float]()
    # One that learns nothing has no results of its own.
    for kind in LEARNERS.keys() - {"untrained"}:
        counts[kind], own = tiny_study(kind)
        learned = [*own.model.state_dict().values(), *own.state().values()]
        sums[kind] = sum(float(each.double().abs().sum()) for each in learned)
    counts |= {name: list(_retrained(name)) for name in RETRAININGS}
    return {"version": RESULTS_VERSION, "counts": counts, "sums": sums}


def _retrained(name: str) -> Iterator[Table]:
    _, own = tiny_study("finetune")
    whole, features = scenario_of_digits().merged, ("hidden1", "hidden2")
    train, test, how = whole.train, whole.test, RetrainSettings(recipe=RETRAININGS[name])
    for found in retrain_each(own.model, features, train, test, CLASSES, how):
        yield Counts.of(test.y, found.predicted, CLASSES).table.tolist()


def fault(golden: dict[str, Any], here: dict[str, Any]) -> str:
    """Return in a sentence why these are not the golden results; "" if they are."""
    version = here["version"]
    if golden["version"] != version:
        of = golden["version"]
        return (
            f"{VERSION} is {version}, the golden results are of {of}: write them anew with {ANEW}"
        )
    changed = changes(golden, here)
    if changed:
        return (
            f"the results of {', '.join(changed)} have changed, and {VERSION} is {version} as "
            f"before: raise it and write the golden results anew with {ANEW}; or, if no result was "
            f"to change, find what has changed them"
        )
    named = ", ".join(sorted(here["counts"].keys() ^ golden["counts"].keys()))
    return f"golden results are for other names ({named}): write them with {ANEW}" if named else ""


def changes(golden: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Return the names that both have and that have other results."""
    counts, sums = golden["counts"], golden["sums"]
    return [
        name
        for name, tables in here["counts"].items()
        if counts.get(name, tables) != tables
        or not math.isclose(sums.get(name, own := here["sums"].get(name, 0)), own, rel_tol=1e-7)
    ]


def test_the_results_are_those_of_the_version() -> None:
    said = fault(json.loads(GOLDEN.read_bytes()), results())
    assert not said, said


ONE: list[Table] = [[[1, 0], [0, 1]]]
TWO: list[Table] = [[[1, 0], [1, 0]]]
BOTH = {"er": ONE, "si": TWO}


@pytest.mark.parametrize(
    ("version", "counts", "size", "said"),
    [
        (3, BOTH, 1, ""),
        (3, BOTH, 1 + 1e-5, "the results of er have changed"),
        (3, {"er": TWO, "si": ONE}, 1, "the results of er, si have changed"),
        (4, {"er": TWO, "si": TWO}, 1, "is 4, the golden results are of 3"),
        (3, {**BOTH, "new": ONE}, 1, "for other names (new)"),
        (3, {"er": ONE}, 1, "for other names (si)"),
    ],
)
def test_what_is_wrong_is_a_sentence_that_says_what_to_do(
    version: int, counts: dict[str, list[Table]], size: float, said: str
) -> None:
    golden = {"version": 3, "counts": BOTH, "sums": {"er": 1.0}}
    found = fault(golden, {"version": version, "counts": counts, "sums": {"er": size}})
    assert said in found
    assert bool(found) == bool(said)
    assert not said or ANEW in found


def write() -> None:
    """Write the golden results anew; refuse to if they change and the version does not."""
    torch.set_num_threads(1)
    here = results()
    if GOLDEN.exists():
        golden = json.loads(GOLDEN.read_bytes())
        if golden["version"] == RESULTS_VERSION and changes(golden, here):
            sys.exit(fault(golden, here))
    # A line for each learner, so that a change shows which are concerned.
    text = json.dumps(here).replace(', "', ',\n"')
    GOLDEN.write_text(text + "\n")


if __name__ == "__main__":
    write()
