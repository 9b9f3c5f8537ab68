"""The answer in words, for hand-made tables."""

import math
from typing import Any

import pandas as pd
import pytest

from figures.report.answer import answers
from figures.report.page import report
from probe.analysis.statements import WITHHELD
from probe.tables.table_file import new_table
from tests.figures import invented
from tests.figures.report.hand_made import layer, layers, stated, tables

ALL = {"conv1": 0.0, "conv2": 0.0, "output": 0.0}
ONE = [
    stated("conv1", "no", 0.0),
    stated("conv2", "yes", 0.21),
    *(stated(f, "no", 0.0, "below_ceiling") for f in ("conv1", "conv2")),
    stated("output", "yes", 0.6),
    stated("output", "yes", 0.4, "below_ceiling"),
]


def answer(statements: list[Any], missing: dict[str, float], **others: Any) -> Any:
    (found,) = answers(tables(statements, missing, **others))
    return found


def test_forgetting_at_one_layer_and_what_the_output_lacks() -> None:
    found = answer(ONE, {"conv1": 0.0, "conv2": 0.05, "output": 0.4})
    assert "; ".join(found.content) == (
        "conv2 forgot 21.0 points [20.0, 22.0], output 60.0 [59.0, 61.0] on tasks 1 "
        "to 2; conv1 forgot less than 1 point"
    )
    assert found.caveats == []


LEARNED = ("yes", 0.07), ("open", 0.012), ("open", math.nan)


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        (
            [
                stated("conv2", "no", 0.0),
                *(stated("conv2", *it, "learns_less") for it in LEARNED),
            ],
            "conv2 forgot less than 1 point; conv2 never learned 7.0 points [6.0, "
            "8.0] of what offline training learns; cannot tell: conv2 1.2 points "
            "[0.2, 2.2] never learned",
        ),
        (
            [stated("conv2", "no", -0.1), stated("conv2", "yes", 0.12, "learns_less")],
            "conv2 gained 10.0 points [9.0, 11.0] on tasks 1 to 2; conv2 never "
            "learned 12.0 points [11.0, 13.0] of what offline training learns",
        ),
        (  # What is withheld is no gain.
            [stated("conv1", "equal seeds", -0.05), stated("conv2", "open", 0.012)],
            f"conv1: not judged, as {WITHHELD['equal seeds']}; "
            "cannot tell: conv2 1.2 points [0.2, 2.2] forgotten on tasks 1 to 2",
        ),
        (  # A negative loss is a gain only where the interval shows it to exceed a point.
            [stated("conv1", "no", -0.05), stated("conv2", "no", -0.015)],
            (
                "conv1 gained 5.0 points [4.0, 6.0] on tasks 1 to 2; conv2 forgot "
                "less than 1 point"
            ),
        ),
        # An interval that holds the margin shows nothing, whatever its middle.
        (
            [stated("conv1", "open", 0.008)],
            "cannot tell: conv1 0.8 points [-0.2, 1.8] forgotten on tasks 1 to 2",
        ),
        *(  # Layers of one verdict are told together.
            (
                [stated(f, verdict, 0.0) for f in ("conv1", "conv2")],
                f"conv1, conv2{words}",
            )
            for verdict, words in {
                "no": " forgot less than 1 point",
                **{
                    verdict: f": not judged, as {why}"
                    for verdict, why in WITHHELD.items()
                },
            }.items()
        ),
    ],
)
def test_statements_in_words(statements: list[Any], text: str) -> None:
    assert "; ".join(answer(statements, ALL).content) == text


CONSTANT = "it predicts class 3 for every test example"
NOTES = [("ft", "0", 0, feature, CONSTANT, 5, "") for feature in ("", "conv1")]
RENAMED = [("ft", "0", 0, "", "its accuracy is 0.5 %, and 94.0 % after", 5, "")]
WITHOUT = {
    control: layers(ALL, room=0.01).query(f"quantity != '{control}'")
    for control in ("floor", "ceiling")
}


@pytest.mark.parametrize(
    ("others", "caveat"),
    [
        ({"room": 0.01}, "little room at conv1, conv2, output: "),
        ({"orders": 1}, "one task order: "),
        # Of the network, and not of one retrained from conv1.
        ({"notes": new_table("notes", NOTES)}, "1 of 30 networks predicts"),
        (
            {"notes": new_table("notes", RENAMED)},
            "ft, after 5 tasks, in 1 run: its accuracy",
        ),
        *(
            ({"layers": rows}, f"no {control} was measured: ")
            for control, rows in WITHOUT.items()
        ),
    ],
)
def test_what_limits_an_answer_stands_beside_it(
    others: dict[str, Any], caveat: str
) -> None:
    (sentence,) = answer(ONE, ALL, **others).caveats
    assert sentence.startswith(caveat)


def test_of_one_network_it_is_told_of_whom_the_answer_speaks() -> None:
    one = [row | {"seeds": 1, "scope": "network"} for row in ONE]
    causes = invented.causes(["ft"], list(ALL), seeds=1)
    for orders, name in ((1, "this network: "), (2, "these 2 networks: ")):
        found = answer(
            one,
            ALL,
            orders=orders,
            causes=causes,
        )
        assert found.causes[0].startswith(f"{name}forgot ")
        assert found.content[0].startswith(
            f"{name}conv2 forgot 21.0 points [20.0, 22.0]"
        )
        caveat = "intervals are over test examples: another training may differ"
        assert found.caveats[-1] == caveat


def test_never_learned_cannot_exceed_what_offline_training_adds() -> None:
    """Then the layer was worse than untrained right after the task."""
    cells = [
        layer("conv2", "never_learned", 0.093),
        layer("conv2", "acquired", -0.043),
        layer("conv2", "forgotten", 0.022),
    ]
    table = pd.concat([layers(ALL, room=0.05), new_table("layers", cells)])
    never = [
        stated(f, "yes", x, "learns_less")
        for f, x in (("conv1", 0.04), ("conv2", 0.093))
    ]
    (text,) = answer(never, ALL, layers=table).content
    assert text == (
        "conv1 never learned 4.0 points [3.0, 5.0] of what offline training learns; "
        "at conv2 offline adds 5.0 points, this layer had added -4.3, and has lost "
        "2.2 since"
    )


def test_withheld_causes_are_a_limit() -> None:
    note = ("ft", "0", 0, "", "causes withheld after task 2: its mask differs", 2, "")
    (caveat,) = answer(ONE, ALL, notes=new_table("notes", [note])).caveats
    assert "causes withheld after task 2: its mask differs" in caveat


def test_no_convergence() -> None:
    never = [
        row | {"verdict": "not converged"} for row in ONE if row["feature"] == "conv2"
    ]
    assert answer(never, ALL).caveats == [
        "some trainings downstream of conv2 have not converged"
    ]


def test_values_that_are_not_a_number_say_nothing() -> None:
    unknown: Any = {"value": math.nan, "low": math.nan, "high": math.nan}
    nowhere = [row | unknown | {"verdict": "open"} for row in ONE]
    lacking = layers(ALL).assign(**unknown)
    found = answer(nowhere, ALL, layers=lacking)
    assert "; ".join(found.content) == "conv1, conv2, output: not measured"
    figures = report({"toy": tables(nowhere, ALL, layers=lacking)}, {}).split("</nav>")[
        1
    ]
    assert "nan" not in figures.split("<footer")[0]


def test_of_many_layers_some_are_named_by_the_ends_of_their_names() -> None:
    names = [f"backbone.encoder.layers.{k}.attention.output" for k in range(12)]
    yes = stated("conv1", "yes", 0.1)
    many = [yes | {"feature": name, "depth": k} for k, name in enumerate(names, 1)]
    found = "; ".join(answer(many, ALL).content)
    assert found.startswith(
        "…0.attention.output forgot 10.0 points [9.0, 11.0], …1.attention"
    )
    assert found.endswith(
        "…3.attention.output 10.0 [9.0, 11.0] and 8 more on tasks 1 to 2"
    )


def test_one_task_cannot_be_forgotten_and_without_a_control_there_is_no_answer() -> (
    None
):
    one_task = layers(ALL).assign(
        task_position=pd.array([pd.NA] * len(layers(ALL)), "Int64")
    )
    found = answer([stated("conv1", "no", 0.0, "below_ceiling")], ALL, layers=one_task)
    assert "; ".join(found.content) == "it learned one task, and had nothing to forget"
    assert answers(tables([], {})) == []
