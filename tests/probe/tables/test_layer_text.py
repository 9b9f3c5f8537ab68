"""Hand-made layers, the statements on them, and what they retain as text."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
import pytest

from probe.analysis.quantities import Terms
from probe.answers.study import named_networks
from probe.results.layers import Layer
from probe.results.statements import Doubts, first_layers, statement_rows
from probe.tables.compared import _interval
from probe.tables.layer_text import retained
from probe.tables.note_text import note_sentences
from probe.tables.table_file import new_table, where

T, EACH = 4, 250
TASKS = np.repeat(np.arange(T), EACH)
APART = np.array([-0.008, 0.008, -0.004, 0.004, 0.0])  # of seeds


def right(levels, seeds):
    """Return right answers, (S, n), of that share of each task's examples, and a seed's more."""
    shares = np.broadcast_to(np.asarray(levels, float), T) + seeds[:, None]
    return np.arange(EACH * T) % EACH < np.repeat(np.round(shares * EACH), EACH, axis=1)


def layer(
    feature,
    last,
    learned=None,
    floor=0.4,
    seeds=APART,
    readout="linear",
    converged=True,
):
    """Return a layer; last, learned: accuracy on each task in the end, and once it was learned."""
    apart = np.asarray(seeds)
    both = np.broadcast_to(last if learned is None else learned, T)
    end = right(last, apart)
    rows = {
        t: np.where(t - 1 == TASKS, right(both, apart), end)[:, None]
        for t in range(1, T)
    }
    floor_right, ceiling_right = (right(level, 0 * apart) for level in (floor, 0.9))
    return Layer(
        learner="ft",
        readout=readout,
        feature=feature,
        depth=int(feature[-1]),
        seeds=tuple(range(len(apart))),
        terms=Terms(
            tasks=TASKS,
            orders=np.arange(T)[None],
            after=rows | {T: end[:, None]},
            floor=floor_right,
            ceiling=ceiling_right,
        ),
        converged=converged,
    )


INTACT = [layer("conv1", 0.9), layer("conv2", 0.9)]
FORGOTTEN = (0.7, 0.7, 0.7, 0.9)


def verdicts(*layers):
    """Return the verdicts by feature and statement."""
    rows = stated(*layers).set_index(["feature", "statement"])
    return rows["verdict"].to_dict()


def stated(*layers):
    """Return the table of the statements on layers."""
    rows = chain.from_iterable(statement_rows(layer, Doubts()) for layer in layers)
    return new_table("statements", rows)


def retained_of(layer):
    """Return the text of what a layer retains over all tasks."""
    rows = new_table("layers", layer.rows())
    over_all = where(rows, task_position=None)
    return retained({row.quantity: row for row in over_all.itertuples()})


def test_what_cannot_be_retained_has_its_reason():
    """What has too little room to retain may still fall below the ceiling."""
    below = layer("conv3", (0.2, 0.2, 0.2, 0.5), 0.9)
    assert retained_of(INTACT[0]) == "100 [98, 102]"
    assert retained_of(below) == "below untrained"
    lower = layer("conv3", 0.8, floor=0.9)
    assert retained_of(lower) == "below untrained"
    assert verdicts(lower)["conv3", "below_ceiling"] == "yes"
    for last in (0.9, 0.896):  # below the floor, but not by more than chance
        assert retained_of(layer("conv3", last, floor=0.9)) == "too little room"


@pytest.mark.parametrize(
    ("accuracies", "name"),
    [
        ({("0", 0): 0.5}, "this network"),
        ({("0", 0): 0.5, ("0", 1): 0.5}, "this network"),  # retrained twice
        ({("0", 0): 0.5, ("0", 1): 0.6}, "these 2 networks"),
        ({("0", 0): 0.5, ("1", 0): 0.5}, "these 2 networks"),
    ],
)
def test_networks_are_counted_by_training(accuracies, name):
    cells = {"learner": "ft", "tasks_seen": T, "metric": "accuracy"}
    rows = []
    for (order, seed), value in accuracies.items():
        rows.append({**cells, "order": order, "seed": seed, "value": value})
    assert named_networks(new_table("measurements", rows)) == name


@pytest.mark.parametrize(
    ("before", "moves"), [(0.55, True), (0.74, False), (0.85, True)]
)
def test_a_retraining_states_nothing_that_is_shown_to_move_by_more_than_a_point(
    before, moves
):
    last = layer("conv1", FORGOTTEN, 0.9, readout="retrain")
    half = replace(last.terms, after=layer("conv1", before, FORGOTTEN).terms.after)
    judged = verdicts(replace(last, terms=replace(last.terms, half=half)))
    verdict = "still moving" if moves else "yes"
    assert judged["conv1", "below_ceiling"] == verdict


def test_a_layer_that_lacks_seeds_leaves_the_first_layer_open():
    few = layer("conv1", 0.9, seeds=APART[:2])
    table = stated(few, INTACT[1], layer("conv3", FORGOTTEN, 0.9))
    first = first_layers(table, {"ft": 3})
    (row,) = first[first["statement"] == "forgets"].itertuples()
    assert (row.first_possible, row.first_confirmed) == ("conv1", "conv3")


def test_a_layer_that_never_changed_forgot_nothing_but_may_never_have_learned():
    table = stated(INTACT[0], INTACT[1], layer("conv3", FORGOTTEN, 0.9))
    table.loc[table["feature"] == INTACT[0].feature, "verdict"] = "unchanged"
    first = first_layers(table, {"ft": 3}).set_index("statement")["first_possible"]
    assert (first["forgets"], first["below_ceiling"]) == ("conv3", INTACT[0].feature)


def test_that_the_output_learned_less_is_stated_where_it_is_shown_and_never_denied():
    """Right after a task, only the classes seen so far compete, at the ceiling all do."""
    for learned, shown in ((0.5, {"learns_less": "yes"}), (0.9, {})):
        at_output = replace(layer("out1", [0.5] * (T - 1) + [0.9], learned), chance=0.1)
        rows = statement_rows(at_output, Doubts())
        by_name = {row["statement"]: row["verdict"] for row in rows}
        assert by_name.pop("below_ceiling") == "yes"
        assert by_name.pop("forgets") == ("no" if shown else "yes")
        assert by_name == shown


def test_differences_of_two_runs_are_paired_by_seed_in_any_order():
    before = {0: 0.1, 1: 0.5}
    after = {1: 0.5, 0: 0.1}
    assert _interval(before, after, {0, 1}) == " [0.0, 0.0]"


def test_a_note_counts_runs_by_order_and_seed():
    runs = [(order, seed) for order in range(3) for seed in range(2)]
    notes = pd.DataFrame(runs, columns=["order", "seed"]).assign(
        learner="er", readout="", feature="", tasks_seen=1, note="odd"
    )
    assert list(note_sentences(notes)) == ["er, after 1 task, in 6 runs: odd"]
