"""Hand-made studies and the sentences that follow from them, word for word."""

from dataclasses import replace

import numpy as np
import pytest

from probe.analysis.quantities import Terms
from probe.results.layers import Layer
from probe.results.statements import (
    Doubts,
    first_layers,
    statement_rows,
    statement_seed_rows,
)
from probe.tables.layer_text import layer_sheets
from probe.tables.statement_text import budget_of, named_networks
from probe.tables.table_file import new_table

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


RUN = {
    "learner": "ft",
    "order": "0",
    "seed": 0,
    "feature": "conv1",
    "tasks_seen": T,
}
EPOCHS = [
    {
        **RUN,
        "readout": "retrain",
        "epoch": e,
        "loss": 1.0,
        "accuracy": 0.5,
    }
    for e in (0, 16)
]


def sheets_of(*layers, **withheld):
    """Return the sheets of layers; withheld: verdicts by statement."""
    rows = []
    stated = []
    by_seed = []
    for layer in layers:
        rows += layer.rows()
        stated += statement_rows(layer, Doubts())
        by_seed += statement_seed_rows(layer)
    stated = new_table("statements", stated)
    stated["verdict"] = stated["statement"].map(withheld.get).fillna(stated["verdict"])
    depths = {"ft": max(layer.depth for layer in layers)}
    tables = {
        "layers": new_table("layers", rows),
        "statements": stated,
        "statement_seeds": new_table("statement_seeds", by_seed),
        "first_layer": first_layers(stated, depths),
        "causes": new_table("causes"),
        "retraining": new_table("retraining", EPOCHS),
        "measurements": new_table("measurements"),
    }
    return layer_sheets(tables)


def retained_and_sentences(*layers, **withheld):
    """Return the column `retained` by feature, and all sentences."""
    cells = {}
    text = []
    for sheet in sheets_of(*layers, **withheld):
        cells |= {line[0]: line[-1] for line in sheet.lines}
        text += sheet.after
    return cells, text


def sentences(*layers, **withheld):
    return retained_and_sentences(*layers, **withheld)[1]


INTACT = [layer("conv1", 0.9), layer("conv2", 0.9)]
FORGOTTEN = (0.7, 0.7, 0.7, 0.9)
ALL = "less than 1 point at conv1, conv2, conv3"
NO_LESS = f"no layer of ft acquires less than offline by more than the margin; {ALL}"
NONE_FORGOTTEN = (
    "no layer of ft forgets by more than the margin; less than 1 point on tasks 1 to "
    "3 at conv1, conv2, conv3"
)


def test_what_is_forgotten_never_learned_or_neither():
    nothing = f"no layer of ft falls below the ceiling by more than the margin; {ALL}"
    assert sentences(*INTACT, layer("conv3", 0.9)) == [nothing, NONE_FORGOTTEN, NO_LESS]
    assert sentences(*INTACT, layer("conv3", FORGOTTEN, 0.9)) == [
        "ft falls below the ceiling, first at conv3: 15.0 points [12.8, 17.2] at "
        "conv3; less than 1 point at conv1, conv2",
        "ft forgets, first at conv3: 20.0 points on tasks 1 to 3 [17.2, 22.8] at "
        "conv3; less than 1 point on tasks 1 to 3 at conv1, conv2",
        NO_LESS,
    ]
    assert sentences(*INTACT, layer("conv3", (0.9, 0.8, 0.7, 0.6)))[1:] == [
        NONE_FORGOTTEN,
        "ft acquires less than offline, first at conv3: 15.0 points [12.8, 17.2] at "
        "conv3; less than 1 point at conv1, conv2",
        "ft learns each task worse, on average: 10.0 points per task [8.2, 11.8] at "
        "conv3; less than 0.4 points per task at conv1, conv2",
    ]


def test_what_cannot_be_retained_has_its_reason():
    """What has too little room to retain may still fall below the ceiling."""
    below = layer("conv3", (0.2, 0.2, 0.2, 0.5), 0.9)
    cells, text = retained_and_sentences(*INTACT, below)
    assert cells == {
        "conv1": "100 [98, 102]",
        "conv2": "100 [98, 102]",
        "conv3": "below untrained",
    }
    assert (
        "ft forgets, first at conv3: 70.0 points on tasks 1 to 3 [66.8, 73.2]"
        in text[1]
    )
    cells, text = retained_and_sentences(*INTACT, layer("conv3", 0.8, floor=0.9))
    assert cells["conv3"] == "below untrained"
    assert "below the ceiling, first at conv3: 10.0 points [8.1, 11.9]" in text[0]
    for last in (0.9, 0.896):  # below the floor, but not by more than chance
        cells, _ = retained_and_sentences(layer("conv3", last, floor=0.9))
        assert cells == {"conv3": "too little room"}


def test_a_collapsed_seed_leaves_the_question_open():
    assert sentences(*INTACT, layer("conv3", 0.7, seeds=[*APART[:4], -0.6]))[0] == (
        "no layer of ft is shown to fall below the ceiling; inconclusive: 32.0 points "
        "[-1.4, 65.4] at conv3 (seeds: 20.8, 19.2, 20.4, 19.6, 80.0); less than 1 "
        "point at conv1, conv2; about 6 seeds would narrow this down"
    )


def test_a_share_is_shown_where_its_interval_is_narrow():
    for spread, shown in (0, "60 [56, 64]"), (10, "at most 76"), (30, "cannot tell"):
        cells, _ = retained_and_sentences(layer("conv3", 0.7, seeds=spread * APART))
        assert cells == {"conv3": shown}


def test_more_than_offline_adds_is_said_in_three_signed_numbers():
    (sheet,) = sheets_of(layer("conv1", 0.3, 0.34))
    assert sheet.after[2:] == [
        (
            "ft acquires less than offline, first at conv1: by more than offline adds "
            "at conv1"
        ),
        (
            "at conv1 offline adds 50.0 points, this layer had added -7.0, and has "
            "lost 4.0 since"
        ),
    ]
    assert dict(zip(sheet.columns, *sheet.lines, strict=True))["never learned"] == "-"


def test_of_one_training_sentences_speak_of_this_network():
    text = sentences(layer("conv1", FORGOTTEN, 0.9, seeds=[0.0]))
    assert [sentence.partition(": ")[0] for sentence in text] == ["this network"] * 3
    assert (
        "ft forgets, first at conv1: 20.0 points on tasks 1 to 3 [17.1, 23.0]"
        in text[1]
    )
    assert "seed" not in str(text)


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
    cells = {**RUN, "feature": "", "metric": "accuracy"}
    rows = []
    for (order, seed), value in accuracies.items():
        rows.append({**cells, "order": order, "seed": seed, "value": value})
    tables = {"measurements": new_table("measurements", rows)}
    assert named_networks(tables, "ft") == name


def test_what_is_withheld_has_its_reason_whatever_has_converged():
    layers = (*INTACT, layer("conv3", FORGOTTEN, 0.9, converged=False))
    not_judged = "not judged, as training has not converged, at conv3"
    assert sentences(*layers)[1].endswith(f"tasks 1 to 3 at conv1, conv2; {not_judged}")
    text = sentences(
        *layers,
        below_ceiling="no ceiling",
        forgets="near chance",
    )
    assert text[:2] == [
        "no layer of ft is shown to fall below the ceiling; not judged, as offline "
        "training is less accurate than a learner, at conv1, conv2, conv3",
        "no layer of ft is shown to forget; not judged, as a run is near chance on its "
        "first task, at conv1, conv2, conv3",
    ]
    assert text[2].endswith(f"at conv1, conv2; {not_judged}")


def test_a_retraining_states_nothing_that_is_shown_to_move_by_more_than_a_point():
    """It names its budget; what may have moved by less is no reason."""
    last = layer("conv1", FORGOTTEN, 0.9, readout="retrain")
    for before, moves in (0.55, True), (0.74, False), (0.85, True):
        half = replace(last.terms, after=layer("conv1", before, FORGOTTEN).terms.after)
        text = sentences(replace(last, terms=replace(last.terms, half=half)))[0]
        assert text.startswith("retrained for 16 epochs, ")
        end = (
            "ft falls below the ceiling, first at conv1: 15.0 points [12.8, 17.2] at "
            "conv1"
        )
        if moves:
            end = (
                "; not judged, as its value still moved by more than a point in the "
                "second half of the retraining, at conv1"
            )
        assert text.endswith(end)


def test_the_epochs_of_a_multiple_follow_from_the_longest_retraining():
    """Only that one has its epochs in a table, perhaps with other statistics of batch norm."""
    longest = new_table(
        "retraining", [{**row, "readout": "retrain@4+bn"} for row in EPOCHS]
    )
    names = ("retrain", "retrain@2+bn", "retrain@4", "linear")
    assert [budget_of(longest, name) for name in names] == [4, 8, 16, None]


def test_a_layer_that_lacks_seeds_is_named_and_silences_no_other():
    """The first of all, so that none before it can be excluded."""
    few = layer("conv1", 0.9, seeds=APART[:2])
    text = sentences(few, INTACT[1], layer("conv3", FORGOTTEN, 0.9))
    assert text[1] == (
        "ft forgets, first between conv1 and conv3: 20.0 points on tasks 1 to 3 "
        "[17.2, 22.8] at conv3; less than 1 point on tasks 1 to 3 at conv2"
    )
    assert text[-1] == "fewer than three seeds are finished at conv1"


def test_that_the_output_learned_less_is_stated_where_it_is_shown_and_never_denied():
    """Right after a task, only the classes seen so far compete, at the ceiling all do."""
    for learned, shown in ((0.5, {"learns_less": "yes"}), (0.9, {})):
        at_output = replace(layer("out1", [0.5] * (T - 1) + [0.9], learned), chance=0.1)
        rows = statement_rows(at_output, Doubts())
        stated = {row["statement"]: row["verdict"] for row in rows}
        by_seed = statement_seed_rows(at_output)
        assert {row["statement"] for row in by_seed} == set(stated)
        assert stated.pop("below_ceiling") == "yes"
        assert stated.pop("forgets") == ("no" if shown else "yes")
        assert stated == shown


def test_layers_whose_rows_were_left_out_are_named_beside_the_output():
    """With more tasks than rows, hidden layers have no statement on what they forgot."""
    hidden = layer("conv1", 0.9)
    thinned = replace(hidden.terms, after={T: hidden.terms.after[T]})
    at_output = replace(layer("out2", 0.5, 0.9), chance=0.1)
    text = sentences(replace(hidden, terms=thinned), at_output)
    (forgets,) = (sentence for sentence in text if sentence.startswith("ft forgets"))
    assert forgets.endswith(" at out2; not measured after every task at conv1")
