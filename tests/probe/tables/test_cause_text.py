"""Hand-made causes and the sentences that follow from them."""

import pandas as pd
import pytest

from probe.tables.cause_text import cause_sentences
from probe.tables.layer_text import layer_sheets
from probe.tables.schemas import CAUSE_VERDICTS
from probe.tables.table_file import all_tables, new_table

FORGOT = {"forgotten": 0.97, "lost": 0.97, "competition": 0.0}
LAYERS = {
    "hidden1": (0.31, "costs"),
    "conv1": (0.003, "none"),
    "bn1": (0.0, "none"),
}
TOTAL = "forgot 97.0 points of tasks 1 to 4 [96.0, 98.0]"
COST = (
    "hidden1 cost 31.0 [30.0, 32.0]: by itself its change breaks 28.5, putting it "
    "back returns 3.9"
)


def row(feature, quantity, value, half=0.01, **cells):
    return {
        "learner": "ft",
        "score": "accuracy",
        "feature": feature,
        "depth": 1 if feature else None,
        "quantity": quantity,
        "value": value,
        "low": value - half,
        "high": value + half,
        "seeds": 5,
        "scope": "training",
        **cells,
    }


def causes(layers=LAYERS, half=0.01, **totals):
    rows = [row("", name, value) for name, value in (FORGOT | totals).items()]
    rows += [row("", "lost", 0.9, task_position=j) for j in (1, 2, 3, 4)]
    for feature, (value, verdict) in layers.items():
        rows.append(row(feature, "attributed", value, half, verdict=verdict))
        for j in (1, 2, 3, 4):
            rows.append(row(feature, "attributed", value, task_position=j))
        rows += [row(feature, "broken", 0.285), row(feature, "restored", 0.039)]
    return new_table("causes", rows)


def sentences(table, **cells):
    return cause_sentences(all_tables(causes=table.assign(**cells))).get("ft", [])


def test_what_was_forgotten_what_cost_it_and_what_did_nothing():
    assert sentences(causes()) == [TOTAL, COST, "conv1, bn1: none"]


@pytest.mark.parametrize("verdict", CAUSE_VERDICTS)
def test_only_what_costs_cost_and_only_what_helps_gave_back(verdict):
    value = -0.2 if verdict == "helps" else 0.2
    (text,) = sentences(causes({"attributes of gate": (value, verdict)}))[1:]
    assert (" cost 20.0 [19.0, 21.0]" in text) == (verdict == "costs")
    assert (" gave back 20.0 [19.0, 21.0]" in text) == (verdict == "helps")
    assert (" accounts for 20.0" in text) == (
        verdict in ("repairs", "breaks", "harms", "together")
    )
    assert len(text.replace("attributes of ", "").split()) <= 21


def test_of_one_network_nothing_is_said_of_seeds_and_training_comes_first():
    table = causes()
    total, *others = sentences(table, scope="network", seeds=1)
    assert [total, *others] == [f"this network: {TOTAL}", COST, "conv1, bn1: none"]
    networks = table.assign(scope="network", value=0.5)
    assert sentences(pd.concat([networks, table])) == sentences(table)


def test_an_end_next_to_0_keeps_its_sign():
    assert sentences(causes({"bn": (0.3, "open")}, 0.3004))[1:] == [
        "cannot tell: bn 30.0 [-0.04, 60.0]"
    ]


@pytest.mark.parametrize(
    ("competition", "words"),
    [(0.05, ["more classes compete: 5.0 [4.0, 6.0] points"]), (0.01, [])],
)
def test_competition_is_told_where_its_interval_excludes_0(competition, words):
    assert sentences(causes(competition=competition))[3:] == words


def test_nothing_is_said_of_a_learner_that_is_not_shown_to_forget():
    assert sentences(causes(forgotten=0.0095)) == []
    assert sentences(causes(), low=-0.1) == []
    assert sentences(new_table("causes")) == []


def test_of_many_layers_those_with_the_largest_shares_are_told():
    many = {f"block{k}": (0.1 + k / 1000, "costs") for k in range(9)}
    told = [text.split()[0] for text in sentences(causes(many))[1:]]
    assert told == ["block8", "block7", "block6", "block5", "5"]


def test_pieces_are_of_the_tasks_whose_causes_are_not_withheld():
    table = causes()
    is_withheld = table["task_position"].isin([3, 4]) & (
        table["quantity"] == "attributed"
    )
    assert " of tasks 1 to 2 " in sentences(table[~is_withheld])[0]


def test_the_sentences_stand_once_at_the_end():
    missing = row("conv3", "missing", 0.5, 0.1)
    del missing["score"]
    layers = [{**missing, "readout": readout} for readout in ("a", "b")]
    tables = all_tables(causes=causes(), layers=new_table("layers", layers))
    lines = [f"ft: {text}" for text in sentences(causes())]
    assert [sheet.after for sheet in layer_sheets(tables)] == [[], lines]
