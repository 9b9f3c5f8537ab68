"""The answers of hand-made tables, as records and as text."""

import re
from collections import defaultdict
from dataclasses import replace
from itertools import combinations_with_replacement, product

import pandas as pd
import pytest

from probe.analysis.statements import MARGIN, WITHHELD
from probe.answers.record import Interval
from probe.answers.study import answers, widest_scope
from probe.answers.text import answer_lines, answers_as_text, as_markdown, headline
from probe.rewinding.verdicts import Shown, verdict
from probe.tables.layer_text import word_of
from probe.tables.schemas import CAUSE_VERDICTS, NETWORK, TRAINING
from probe.tables.table_file import new_table
from tests.figures.report.hand_made import (
    LAYERS,
    SHARES,
    causes,
    layer,
    layers,
    rows,
    stated,
    tables,
)


def answer(statements=(), missing=None, **others):
    lacking = (
        {"conv1": 0.0, "conv2": 0.3, "output": 0.6} if missing is None else missing
    )
    (only,) = answers(tables(list(statements), lacking, **others))
    return only


def main_layers(causes):
    return [line.layer for line in answer(causes=causes).main_layers]


def test_each_line_holds_the_numbers_of_the_tables():
    result = answer(causes=causes())
    for line in result.layers:
        share = SHARES[line.layer]
        assert line.cost == Interval(value=share, low=share - 0.01, high=share + 0.02)
        assert line.repair.value == share / 2
        assert line.harm.value == 2 * share
        assert (line.untrained, line.joint) == (0.4, 0.9)
        assert line.held.value == pytest.approx(
            0.9 - {"conv2": 0.3, "output": 0.6}.get(line.layer, 0)
        )
    assert [line.layer for line in result.layers] == list(LAYERS)
    assert result.forgotten.value == pytest.approx(sum(SHARES.values()))


@pytest.mark.parametrize("competition", [0.1, 0.005, -0.1])
def test_costs_and_the_competition_of_classes_add_up_to_what_was_forgotten(competition):
    """Also where the interval of the competition holds 0."""
    result = answer(causes=causes(competition=competition))
    assert result.layers[0].layer == "new classes"
    total = sum(line.cost.value for line in result.layers)
    assert total == pytest.approx(result.forgotten.value)


@pytest.mark.parametrize("verdict", CAUSE_VERDICTS)
def test_a_verdict_stands_in_the_line_of_its_layer_and_is_explained_once(verdict):
    result = answer(causes=causes(("none", verdict, "none")))
    word = word_of(verdict)
    text = answers_as_text([result])
    assert re.search(rf"^conv2 .* {word} ", text, re.M)
    assert text.count(CAUSE_VERDICTS[verdict]) == 1


def test_harm_and_repair_read_as_the_verdict_that_they_decide():
    ends = (-0.02, -0.009, 0.0, 0.009, 0.02)
    words = defaultdict(set)
    intervals = combinations_with_replacement(ends, 2)
    for low_high in product(intervals, repeat=3):
        shown = [Shown(low=low, high=high, margin=MARGIN) for low, high in low_high]
        harm, repair, _ = (Interval(value=0.0, low=x.low, high=x.high) for x in shown)
        words[verdict(*shown)].add(f"{harm.shown} {repair.shown}")
    assert words.pop("depends")
    assert words == {
        "costs": {"yes yes"},
        "repairs": {"no yes"},
        "breaks": {"yes no"},
        "harms": {"yes ?", "? yes", "yes yes"},
        "helps": {"<0 <0"},
        "together": {"no no"},
        "none": {"no no"},
        "open": {" ".join(both) for both in product(("no", "?", "<0"), repeat=2)},
    }


def test_the_headline_names_the_three_largest_by_their_verdicts():
    competing = causes(("costs", "repairs", "costs"), competition=0.3)
    assert main_layers(causes=competing) == ["conv2", "new classes", "output"]
    words = "; at fault: output; repair only: conv2; competing: new classes"
    assert headline(answer(causes=competing)).endswith(words)
    unsure = causes()
    unsure["low"] = -0.01
    assert main_layers(causes=unsure) == []


def test_the_way_of_training_is_preferred_to_these_networks():
    networks = causes(scope="network", seeds=1)
    both = pd.concat([networks.assign(value=0.9), causes()], ignore_index=True)
    assert answer(causes=both) == answer(causes=causes())
    on_networks = answer(
        causes=networks, layers=layers({"output": 0.6}).assign(scope="network")
    )
    assert "another training may differ" in on_networks.belief[0]
    assert on_networks.next == "probe.diff(models[0][2], models[0][3], old, new)"
    R = rows()
    without_second = answer(causes=both, measurements=R[R["tasks_seen"] != 2])
    assert without_second.next == "probe.diff(models[0][1], models[0][3], old, new)"


def test_a_command_goes_further_and_stands_on_a_line_of_its_length():
    command = f"probe run digits --out {'a' * 80} --seeds 6"
    (only,) = answers(tables([], {"conv2": 0.3}), command)
    assert f" narrow the intervals:\n         {command}" in answers_as_text([only])
    assert f"`{command}`" in as_markdown([only])


def test_below_untrained_and_too_little_room_have_no_position():
    below = new_table(
        "layers",
        [layer("conv2", "above_floor", -0.05)],
    )
    lacking = layers({"conv1": 0.1, "conv2": 0.6, "output": 0.2})
    first, second, _ = answer(layers=pd.concat([lacking, below])).layers
    assert first.position == pytest.approx(0.8)
    assert second.below_untrained
    assert second.position is None
    unsure = pd.concat([lacking, below.assign(high=0.01)])
    assert not answer(layers=unsure).layers[1].below_untrained
    # Joint training may also be worse than none.
    for room in (0.01, -0.3):
        flat = answer(missing={"conv1": 0.0}, room=room)
        assert flat.layers[0].position is None
        assert any("no room at conv1" in text for text in flat.belief)


def test_each_verdict_stands_with_the_line_of_its_layer():
    result = answer(causes=causes())
    verdict_of = {line.layer: line.verdict for line in result.layers}
    shown = {}
    for text, said in answer_lines([result]):
        if said:
            layer_name = text.split()[0]
            shown[layer_name] = said
    assert shown == verdict_of


def test_harm_and_repair_stand_below_their_names():
    yes = Interval(value=0.4, low=0.3, high=0.5)
    no = Interval(value=0.0, low=-0.001, high=0.001)
    result = answer(causes=causes())
    lines = [replace(line, harm=yes, repair=no) for line in result.layers]
    text = answers_as_text([replace(result, layers=tuple(lines))]).splitlines()
    head = next(line for line in text if " harm repair " in line)
    for layer_name in LAYERS:
        row = next(line for line in text if line.startswith(f"{layer_name} "))
        assert row[head.index("harm") :].split()[:2] == ["yes", "no"]


def test_each_learner_has_its_widest_scope():
    frames = [
        causes(learner="ft", scope=NETWORK),
        causes(learner="ft", scope=TRAINING),
        causes(learner="er", scope=NETWORK),
    ]
    chosen = widest_scope(pd.concat(frames))
    scope_of = dict(
        zip(
            chosen["learner"],
            chosen["scope"],
            strict=True,
        )
    )
    assert scope_of == {"ft": TRAINING, "er": NETWORK}
    assert len(chosen) == len(frames[1]) + len(frames[2])


@pytest.mark.parametrize(
    ("value", "is_part"),
    [
        (0.2, True),
        (0.6, False),
        (-0.1, False),
    ],
)
def test_never_learned_is_a_part_of_the_room_or_not_shown(value, is_part):
    never = new_table(
        "layers",
        [layer("conv2", "never_learned", value)],
    )
    table = pd.concat([layers({"conv2": 0.3}), never])
    (line,) = answer(layers=table).layers
    assert (line.never_learned is not None) == is_part


@pytest.mark.parametrize("verdict", WITHHELD)
def test_each_withheld_verdict_is_a_doubt_with_its_reason(verdict):
    result = answer([stated("conv2", verdict, 0.3)], causes=causes())
    assert f"in doubt at conv2: {WITHHELD[verdict]}" in result.belief


def test_networks_that_predict_one_class_are_counted_in_every_order():
    measured = rows(orders=2, seeds=3)
    note = {
        "learner": "ft",
        "seed": 0,
        "tasks_seen": 2,
        "note": "it predicts class 1 for every test example",
    }
    result = answer(measurements=measured, notes=new_table("notes", [note]))
    # After 0 to 3 tasks.
    assert "1 of 24 networks predict one class for all examples" in result.belief


def test_without_causes_or_controls_the_answer_says_so():
    result = answer()
    assert "not measured" in headline(result)
    assert not result.has_causes
    bare = layers({"conv2": 0.3})
    bare = bare[~bare["quantity"].isin(["floor", "ceiling"])]
    belief = " ".join(answer(layers=bare).belief)
    assert "no untrained network" in belief
    assert "no joint training" in belief


def test_what_was_gained_comes_on_top_of_what_was_learned():
    gained = Interval(value=-0.115, low=-0.2, high=-0.1)
    result = replace(answer(), forgotten=gained, learned=0.128)
    assert headline(result) == "gained 11.5 on top of 12.8 points of tasks 1 to 2"


def test_the_interval_of_what_was_forgotten_may_hold_more_than_was_learned():
    """What was learned is a mean, too."""
    rewound = causes()
    is_total = rewound["quantity"] == "forgotten"
    rewound.loc[is_total, ["low", "high"]] = 0.5, 0.95
    result = answer(causes=rewound)
    assert result.learned < 0.95
    assert result.belief[0].endswith("forgotten: [50.0, 95.0] (95 %)")


@pytest.mark.parametrize(("positions", "learned"), [([1, 2], 0.65), ([2], 0.7)])
def test_what_was_learned_is_the_mean_right_after_the_tasks_that_were_measured(
    positions, learned
):
    R = rows()
    diagonal = R["task_position"] == R["tasks_seen"]
    R.loc[diagonal, "value"] = 0.5 + 0.1 * R["task_position"]
    parts = [causes(task_position=j) for j in positions]
    rewound = pd.concat(
        [causes(), *parts],
        ignore_index=True,
    )
    result = answer(
        measurements=R,
        causes=rewound,
    )
    assert result.learned == pytest.approx(learned)
    assert answer(measurements=R).learned == pytest.approx(0.65)


@pytest.mark.parametrize("verdict", CAUSE_VERDICTS)
def test_a_terminal_has_80_columns_and_a_headline_20_words_and_two_numbers(verdict):
    long_name = "backbone.features.denseblock3.denselayer12.conv2"
    table = causes((verdict,) * 3, competition=0.2).replace({"conv2": long_name})
    measured = layers({"conv1": 0.1, "conv2": 0.6, "output": 0.2})
    others = new_table(
        "layers",
        [layer(name, "never_learned", 0.15) for name in LAYERS]
        + [layer("output", "above_floor", -0.3)],
    )
    table_of_layers = pd.concat([measured, others]).replace({"conv2": long_name})
    result = answer(causes=table, layers=table_of_layers)
    far = replace(result.layers[1].cost, value=-0.5, low=-1.0, high=-0.995)
    lost = replace(result, layers=(replace(result.layers[1], cost=far),))
    lines = answers_as_text([result, lost]).splitlines()
    assert max(map(len, lines)) <= 80
    words = f"ft {headline(result)}"
    assert len(words.split()) <= 20
    assert len(re.findall(r"\d+\.\d", words)) <= 2


def test_markdown_has_a_line_for_each_layer_with_the_numbers_of_the_record():
    result = answer(causes=causes())
    table = [
        line for line in as_markdown([result]).splitlines() if line.startswith("| ")
    ]
    for cells, line in zip(
        table[2:],
        result.layers,
        strict=True,
    ):
        assert cells.startswith(f"| {line.layer} | {100 * line.cost.value:.1f} [")
        assert f" {100 * line.held.value:.1f} " in cells


def test_of_one_task_there_is_nothing_to_forget_and_of_outputs_no_answer():
    R = rows(orders=1)
    first = R[(R["tasks_seen"] <= 1) & (R["task_position"] == 1)]
    of_one = answer(measurements=first)
    assert "nothing to forget" in headline(of_one)
    assert of_one.next == "probe.diff(before, after, old, new)"
    assert of_one.purpose == "compare with a network before"
    assert answers({**tables([], {}), "layers": layers({})}) == []


def test_what_may_not_have_been_forgotten_is_no_layers_doing():
    """Its interval holds 0; the interval stands beside the number, in what it rests on."""
    unsure = causes()
    total = unsure["quantity"] == "forgotten"
    unsure.loc[total, "low"] = -0.01
    result = answer(causes=unsure)
    assert not result.main_layers
    assert "[-1.0, 77.0] (95 %)" in result.belief[0]
