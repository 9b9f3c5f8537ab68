"""The catalogue: every learner can be named in a study, and its settings survive the round trip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
import torch
from scenarios.study.identity import identify, read_identity

from scenarios.data.datasets import Location
from scenarios.learners.catalogue import LEARNERS, AnySettings
from scenarios.study.overrides import Overrides
from scenarios.study.reading import check_study
from scenarios.study.spec import Study

SETTINGS = get_args(get_args(AnySettings)[0])


def study(kind: str) -> Study:
    raw = {
        "name": "one",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp"},
        "learners": {kind: {}},
        "report": {"heads": ["multi"]},  # some must be told the task
    }
    return check_study(raw, "one")


def test_every_learner_has_settings_of_its_kind_and_the_other_way_round() -> None:
    assert [each.model_fields["kind"].default for each in SETTINGS] == list(LEARNERS)


@pytest.mark.parametrize("kind", LEARNERS)
def test_settings_read_back_from_a_run_directory(kind: str, tmp_path: Path) -> None:
    one = study(kind)
    identity = identify(one, one.scenario.scenario(Location()), torch.device("cpu"))
    identity.claim(tmp_path)
    assert read_identity(tmp_path) == identity
    read_identity(tmp_path).claim(tmp_path)  # and is its own again
    assert json.loads((tmp_path / "study.json").read_text())["study"]["learners"][kind]


@pytest.mark.parametrize("kind", LEARNERS)
def test_flags_leave_settings_as_they_are(kind: str) -> None:
    one = study(kind)
    assert Overrides(seeds=3).applied_to(one).learners == one.learners
    assert Overrides(learners=[kind]).applied_to(one).learners == one.learners
