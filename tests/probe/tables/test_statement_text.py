"""Hand-made studies, and the statements that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from probe.analysis.layers import LayerOutcomes, TestLayout
from probe.analysis.statements import first_layer
from probe.tables.layer_text import layer_sheets
from probe.tables.layers import Layer, start_rows

T, EACH = 4, 250
TASKS = np.repeat(np.arange(T), EACH)
LAYOUT = TestLayout(tasks=TASKS, strata=TASKS, orders=np.arange(T)[None])
APART = np.array([-0.008, 0.008, -0.004, 0.004, 0.0])  # of seeds
Levels = float | Sequence[float]


def right(levels: Levels, by_seed: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return right answers, (S, n), of that share of each task's examples, and a seed's more."""
    shares = np.broadcast_to(np.asarray(levels, float), T) + np.asarray(by_seed)[:, None]
    return np.arange(EACH * T) % EACH < np.repeat(np.round(shares * EACH), EACH, axis=1)


def layer(
    feature: str,
    *,
    last: Levels,
    learned: Levels | None = None,
    floor: float = 0.4,
    ceiling: float = 0.9,
    by_seed: Sequence[float] | np.ndarray = APART,
    readout: str = "linear",
    converged: bool = True,
) -> Layer:
    """Return a layer; last, learned: accuracy on each task in the end, and once it was learned."""
    both = np.broadcast_to(last if learned is None else learned, T)
    end = right(last, by_seed)
    rows = {t: np.where(t - 1 == TASKS, right(both, by_seed), end)[:, None] for t in range(1, T)}
    fixed = np.zeros(len(by_seed))
    return Layer(
        learner="ft",
        readout=readout,
        feature=feature,
        depth=int(feature[-1]),
        outcomes=LayerOutcomes(
            rows=rows | {T: end[:, None]}, floor=right(floor, fixed), ceiling=right(ceiling, fixed)
        ),
        layout=LAYOUT,
        converged=converged,
    )


WHOLE = [layer("conv1", last=0.9), layer("conv2", last=0.9)]
LOST = {"last": (0.7, 0.7, 0.7, 0.9), "learned": 0.9}
# The third layer, and the verdicts on it: falls below, forgets, acquires less, learns worse.
CASES = {
    "it forgets": (layer("conv3", **LOST), "yes yes no no"),
    "it learns each task worse": (layer("conv3", last=(0.9, 0.8, 0.7, 0.6)), "yes no yes yes"),
    "nothing is lost": (layer("conv3", last=0.9), "no no no no"),
    "it has no room": (layer("conv3", last=0.8, floor=0.9), "yes no yes open"),
    "it has not converged": (
        layer("conv3", **LOST, converged=False),
        "not converged,not converged,not converged,not converged",
    ),
    "a seed collapsed": (layer("conv3", last=0.7, by_seed=[*APART[:4], -0.5]), "open no open open"),
    "few seeds": (
        layer("conv3", last=0.5, by_seed=APART[:2]),
        "few seeds,few seeds,few seeds,few seeds",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_verdicts_on_a_layer_and_the_range_of_the_first(name: str) -> None:
    """Layers that hold all are none of the first; one that cannot be told leaves it open."""
    third, expected = CASES[name]
    verdicts = expected.split(",") if "," in expected else expected.split()
    each = [[row.verdict for row in own.statements()] for own in (*WHOLE, third)]
    assert each == [["no"] * 4, ["no"] * 4, verdicts]
    first = {"yes": (2, 2), "no": (None, None)}
    for k, found in enumerate(verdicts):
        assert first_layer([own[k] for own in each]) == first.get(found, (2, None))


def test_a_sentence_names_the_layer_its_points_and_the_others() -> None:
    layers = [*WHOLE, layer("conv3", **LOST)]
    stated = [row for own in layers for row in own.statements()]
    rows = [row for own in layers for row in own.rows()]
    (sheet,) = layer_sheets(rows, stated, start_rows(stated, {"ft": 3}))
    forgets = next(text for text in sheet.after if "forgets" in text)
    for part in ("ft", "conv3", "20.0 points", "conv1, conv2"):
        assert part in forgets


def test_the_output_is_not_judged_by_what_it_acquires() -> None:
    """It competes with the classes seen so far alone, the ceiling's with all."""
    at_output = replace(layer("out1", last=0.5), chance=0.1)
    assert [row.statement for row in at_output.statements()] == ["falls_below", "forgets"]
