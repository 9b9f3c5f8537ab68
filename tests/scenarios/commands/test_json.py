"""`--json`: one object and nothing else, with the facts of the text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest

from scenarios.commands.screen.terminal import print_json
from scenarios.data.datasets import LOADERS
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import ARCHITECTURES
from scenarios.study.source import preset_names


def test_list_names_everything_that_a_study_can_name(
    probe: Callable[[str], tuple[int, str, str]],
) -> None:
    code, out, err = probe("list --json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    names = {kind: [each["name"] for each in found[kind]] for kind in ("presets", "data_sets")}
    assert names == {"presets": preset_names(), "data_sets": [*LOADERS, "NAME.npz"]}
    assert [each["name"] for each in found["learners"]] == list(LEARNERS)
    features = {each["name"]: tuple(each["features"]) for each in found["networks"]}
    assert features == {name: each.features for name, each in ARCHITECTURES.items()}
    assert {"murata", "chaudhry", "kemker"} <= {each["paper"] for each in found["metrics"]}
    flat = " ".join(probe("list")[1].split())
    for each in (*found["presets"], *found["data_sets"], *found["learners"], *found["networks"]):
        assert each["name"] in flat


def test_nan_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [math.nan, 1.5], "b": {"c": (math.inf, None)}, "d": "NaN"})
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"a": [None, 1.5], "b": {"c": [None, None]}, "d": "NaN"}
