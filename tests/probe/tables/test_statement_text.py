"""Hand-made studies and the sentences that follow from them, word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from probe.analysis.layers import LayerOutcomes, TestLayout
from probe.tables.layer_text import layer_sheets
from probe.tables.layers import Layer, first_layer_rows

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
        seeds=tuple(range(len(by_seed))),
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
    tables = {
        "layers": [row for each in layers for row in each.rows()],
        "statements": stated,
        "statement_seeds": [row for each in layers for row in each.statement_seeds()],
        "first_layer": list(first_layer_rows(stated, depths)),
    }
    sheets = layer_sheets(tables)
    cells = {line[0]: line[-1] for sheet in sheets for line in sheet.lines}
    return cells, [sentence for sheet in sheets for sentence in sheet.after]


WHOLE = [layer("conv1", last=0.9), layer("conv2", last=0.9)]
ALL = "less than 5 points at conv1, conv2, conv3"
KEPT = (
    "ft: no layer forgets by more than the margin; less than 5 points on tasks 1 to 3 at conv1, "
    "conv2, conv3"
)
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


def test_it_learns_each_task_worse_and_forgets_none():
    _, found = said(*WHOLE, layer("conv3", last=(0.9, 0.8, 0.7, 0.6)))
    assert found[1:] == [
        KEPT,
        "ft acquires less than offline, first at conv3: 15.0 points [12.8, 17.2] at "
        "conv3; less than 5 points at conv1, conv2",
        "ft learns each task worse, on average: 10.0 points per task [8.2, 11.8] at conv3; "
        "less than 1.7 points per task at conv1, conv2",
    ]


def test_below_untrained():
    cells, found = said(*WHOLE, layer("conv3", last=(0.2, 0.2, 0.2, 0.5), learned=0.9))
    assert cells == {"conv1": "100 [98, 102]", "conv2": "100 [98, 102]", "conv3": "below untrained"}
    assert "ft forgets, first at conv3: 70.0 points on tasks 1 to 3 [66.8, 73.2]" in found[1]


def test_what_has_too_little_room_to_retain_may_still_fall_below_the_ceiling():
    cells, found = said(*WHOLE, layer("conv3", last=0.8, floor=0.9))
    assert cells["conv3"] == "below untrained"
    assert said(layer("conv3", last=0.9, floor=0.9))[0] == {"conv3": "too little room"}
    assert found[0].startswith(
        "ft falls below the ceiling, first at conv3: 10.0 points [8.1, 11.9]"
    )


def test_a_collapsed_seed_leaves_the_question_open():
    collapsed = [*APART[:4], -0.5]
    _, found = said(*WHOLE, layer("conv3", last=0.7, by_seed=collapsed))
    assert found[0] == (
        "ft: no layer is shown to fall below the ceiling; inconclusive: 30.0 points "
        "[2.2, 57.8] at conv3 (seeds: 20.8, 19.2, 20.4, 19.6, 70.0); less than 5 points at conv1, "
        "conv2; about 6 seeds would narrow this down"
    )


def test_nothing_rests_on_trainings_that_have_not_converged():
    _, found = said(*WHOLE, layer("conv3", last=0.5, learned=0.9, converged=False))
    assert found[1] == (
        "ft: no layer is shown to forget; less than 5 points on tasks 1 to 3 at conv1, conv2; not "
        "judged, as training has not converged, at conv3"
    )


def test_what_is_withheld_has_its_reason_whatever_has_converged():
    lost = layer("conv3", last=(0.7, 0.7, 0.7, 0.9), learned=0.9, converged=False)
    _, found = said(*WHOLE, lost, below_ceiling="no ceiling", forgets="near chance")
    assert found[:2] == [
        "ft: no layer is shown to fall below the ceiling; not judged, as offline training is less "
        "accurate than a learner, at conv1, conv2, conv3",
        "ft: no layer is shown to forget; not judged, as accuracy on the first task is near "
        "chance, at conv1, conv2, conv3",
    ]
    assert found[2].endswith("at conv1, conv2; not judged, as training has not converged, at conv3")


def test_a_layer_that_lacks_seeds_is_named_and_silences_no_other():
    """The first of all, so that none before it can be excluded."""
    some = layer("conv1", last=0.9, by_seed=APART[:2])
    _, found = said(some, WHOLE[1], layer("conv3", last=(0.7, 0.7, 0.7, 0.9), learned=0.9))
    assert found[1] == (
        "ft forgets, first between conv1 and conv3: 20.0 points on tasks 1 to 3 [17.2, 22.8] at "
        "conv3; less than 5 points on tasks 1 to 3 at conv2; not judged, as fewer than three seeds "
        "are finished, at conv1"
    )


def test_of_fewer_than_three_seeds_there_are_values_alone():
    for seeds in (1, 2):
        _, found = said(layer("conv1", last=0.5, by_seed=APART[:seeds]))
        assert found == [f"ft: {seeds} of the 3 seeds that statements need"]


def test_readouts_that_name_other_layers_are_told_apart():
    linear = (*WHOLE, layer("conv3", last=0.6))
    retrained = [layer(f"conv{k}", last=0.6, readout="retrain") for k in (1, 2, 3)]
    _, found = said(*linear, *retrained)
    assert found[-2] == (
        "linear and retrain differ on where ft falls below the ceiling first: retraining shows "
        "what this architecture rebuilds in this budget, the linear readout what is linearly "
        "separable"
    )
    agreeing = [
        layer(f"conv{k}", last=last, readout="retrain") for k, last in enumerate((0.9, 0.9, 0.6), 1)
    ]
    assert not [each for each in said(*linear, *agreeing)[1] if "differ" in each]


def test_nothing_is_lost():
    _, found = said(*WHOLE, layer("conv3", last=0.9))
    assert found == [
        f"ft: no layer falls below the ceiling by more than the margin; {ALL}",
        KEPT,
        NO_LESS,
    ]


def test_the_output_is_not_judged_by_what_it_acquires():
    """It competes with the classes seen so far alone, the ceiling's with all."""
    at_output = replace(layer("out1", last=0.5), chance=0.1)
    assert [row.statement for row in at_output.statements()] == ["below_ceiling", "forgets"]


def test_layers_whose_rows_were_left_out_are_named_beside_the_output():
    """With more tasks than rows, hidden layers have no statement on what they forgot."""
    hidden = layer("conv1", last=0.9)
    thinned = replace(hidden.outcomes, rows={T: hidden.outcomes.rows[T]})
    at_output = replace(layer("out2", last=0.5, learned=0.9), chance=0.1)
    _, found = said(replace(hidden, outcomes=thinned), at_output)
    (forgets,) = (one for one in found if one.startswith("ft forgets"))
    assert forgets.endswith(" at out2; not measured after every task at conv1")
