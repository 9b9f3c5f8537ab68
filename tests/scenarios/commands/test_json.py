"""`--json`: one object and nothing else, with the facts of the text."""

from __future__ import annotations

import json
from collections.abc import Callable

from scenarios.data.datasets import LOADERS
from scenarios.learners.catalog import LEARNERS
from scenarios.networks import ARCHITECTURES
from scenarios.study.study_file import preset_names


def test_list_names_everything_that_a_study_can_name(
    probe: Callable[[str], tuple[int, str, str]],
) -> None:
    code, out, err = probe("list --json")
    known = json.loads(out)
    assert (code, err) == (0, "")
    names = {kind: [each["name"] for each in known[kind]] for kind in known if kind != "metrics"}
    expected = {"presets": preset_names(), "data_sets": [*LOADERS, "NAME.npz"]}
    expected |= {"learners": list(LEARNERS), "networks": list(ARCHITECTURES)}
    assert {kind: names[kind] for kind in expected} == expected
    features = {each["name"]: tuple(each["features"]) for each in known["networks"]}
    assert features == {name: each.features for name, each in ARCHITECTURES.items()}
    assert {"murata", "chaudhry", "kemker"} <= {each["paper"] for each in known["metrics"]}
    flat = " ".join(probe("list")[1].split())
    assert all(name in flat for kind in expected for name in names[kind])
