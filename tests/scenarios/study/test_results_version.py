"""Our results have a version: it is raised when the counts of a tiny study change, and only then.

`python -m tests.scenarios.study.test_results_version` writes the golden counts anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from probe.metrics.counts import Counts
from probe.retrain import retrain_each
from scenarios.learners.catalogue import LEARNERS
from scenarios.study.fingerprint import RESULTS_VERSION
from tests.scenarios.learners.tiny_study import (
    CLASSES,
    RECIPE,
    Table,
    scenario_of_digits,
    tiny_counts,
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
NAMES = (*LEARNERS, *RETRAININGS)


def tables_of(name: str) -> list[Table]:
    """Return what a learner of the tiny study counts, or finetune's retrained models."""
    return list(_retrained(name)) if name in RETRAININGS else tiny_counts(name)


def _retrained(name: str) -> Iterator[Table]:
    _, own = tiny_study("finetune")
    whole, features = scenario_of_digits().merged, ("hidden1", "hidden2")
    train, test, recipe = whole.train, whole.test, RETRAININGS[name]
    for _, predicted in retrain_each(own.model, features, train, test, CLASSES, recipe, seed=0):
        yield Counts.of(test.y, predicted, CLASSES).table.tolist()


def fault(golden: dict[str, Any], version: int, counts: dict[str, list[Table]]) -> str:
    """Return in a sentence why these are not the golden counts; "" if they are."""
    if golden["version"] != version:
        of = golden["version"]
        return f"{VERSION} is {version}, the golden counts are of {of}: write them anew with {ANEW}"
    changed = changes(golden, counts)
    if changed:
        return (
            f"the counts of {', '.join(changed)} have changed, and {VERSION} is {version} as "
            f"before: raise it and write the golden counts anew with {ANEW}; or, if no result was "
            f"to change, find what has changed them"
        )
    lacking = counts.keys() ^ golden["counts"].keys()
    named = ", ".join(sorted(lacking))
    return (
        f"golden counts are for other names ({named}): write them anew with {ANEW}"
        if lacking
        else ""
    )


def changes(golden: dict[str, Any], counts: dict[str, list[Table]]) -> list[str]:
    known = golden["counts"]
    return [name for name, tables in counts.items() if known.get(name, tables) != tables]


def test_the_counts_are_those_of_the_version() -> None:
    golden = json.loads(GOLDEN.read_bytes())
    said = fault(golden, RESULTS_VERSION, {name: tables_of(name) for name in NAMES})
    assert not said, said


ONE: list[Table] = [[[1, 0], [0, 1]]]
TWO: list[Table] = [[[1, 0], [1, 0]]]


@pytest.mark.parametrize(
    ("version", "counts", "said"),
    [
        (3, {"er": ONE, "si": TWO}, ""),
        (3, {"er": TWO, "si": TWO}, "the counts of er have changed"),
        (3, {"er": TWO, "si": ONE}, "the counts of er, si have changed"),
        (4, {"er": TWO, "si": TWO}, "is 4, the golden counts are of 3"),
        (4, {"er": ONE, "si": TWO}, "is 4, the golden counts are of 3"),
        (3, {"er": ONE, "si": TWO, "new": ONE}, "for other names (new)"),
        (3, {"er": ONE}, "for other names (si)"),
    ],
)
def test_what_is_wrong_is_a_sentence_that_says_what_to_do(
    version: int, counts: dict[str, list[Table]], said: str
) -> None:
    found = fault({"version": 3, "counts": {"er": ONE, "si": TWO}}, version, counts)
    assert said in found
    assert bool(found) == bool(said)
    assert not said or ANEW in found


def write() -> None:
    """Write the golden counts anew; refuse to if they change and the version does not."""
    torch.set_num_threads(1)
    counts = {name: tables_of(name) for name in NAMES}
    if GOLDEN.exists():
        golden = json.loads(GOLDEN.read_bytes())
        if golden["version"] == RESULTS_VERSION and changes(golden, counts):
            sys.exit(fault(golden, RESULTS_VERSION, counts))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(own)}" for name, own in counts.items())
    GOLDEN.write_text(f'{{"version": {RESULTS_VERSION}, "counts": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    write()
