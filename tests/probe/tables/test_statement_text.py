"""Hand-made studies and the sentences that follow from them, word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from probe.analysis.layers import LayerOutcomes, TestLayout
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


def said(*layers: Layer, **withheld: str) -> tuple[dict[str, str], list[str]]:
    """Return the column `retained` by feature, and all sentences; withheld: by statement."""
    stated = [row for each in layers for row in each.statements()]
    stated = [replace(row, verdict=withheld.get(row.statement, row.verdict)) for row in stated]
    depths = {"ft": max(each.depth for each in layers)}
    rows = [row for each in layers for row in each.rows()]
    sheets = layer_sheets(rows, stated, start_rows(stated, depths))
    cells = {line[0]: line[-1] for sheet in sheets for line in sheet.lines}
    return cells, [sentence for sheet in sheets for sentence in sheet.after]


WHOLE = [layer("conv1", last=0.9), layer("conv2", last=0.9)]
ALL = "less than 5 points at conv1, conv2, conv3"
NO_LESS = f"ft: no layer acquires less than offline by more than the margin; {ALL}"


def test_it_forgets_at_one_layer():
    _, found = said(*WHOLE, layer("conv3", last=(0.7, 0.7, 0.7, 0.9), learned=0.9))
    assert found == [
        "ft falls below the ceiling, first at conv3: 15.0 points [12.8, 17.2] at conv3; less than "
        "5 points at conv1, conv2",
        "ft forgets, first at conv3: 20.0 points on tasks 1 to 3 [17.2, 22.8] at conv3; less than "
        "5 points on tasks 1 to 3 at conv1, conv2",
        NO_LESS,
    ]


def test_a_collapsed_seed_leaves_the_question_open():
    collapsed = [*APART[:4], -0.5]
    _, found = said(*WHOLE, layer("conv3", last=0.7, by_seed=collapsed))
    assert found[0] == (
        "ft: no layer is shown to fall below the ceiling; inconclusive: 30.0 points "
        "[2.2, 57.8] at conv3 (seeds: 20.8, 19.2, 20.4, 19.6, 70.0); less than 5 points at conv1, "
        "conv2; about 6 seeds would narrow this down"
    )


def test_of_fewer_than_three_seeds_there_are_values_alone():
    for seeds in (1, 2):
        _, found = said(layer("conv1", last=0.5, by_seed=APART[:seeds]))
        assert found == [f"ft: {seeds} of the 3 seeds that statements need"]


def test_the_output_is_not_judged_by_what_it_acquires():
    """It competes with the classes seen so far alone, the ceiling's with all."""
    at_output = replace(layer("out1", last=0.5), chance=0.1)
    assert [row.statement for row in at_output.statements()] == ["falls_below", "forgets"]
