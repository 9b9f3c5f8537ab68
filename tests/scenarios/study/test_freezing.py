"""Studies of learners with frozen layers: which can have them, and what is in the checkpoints."""

import pytest

from probe.errors import InputError
from scenarios.learners.catalog import LEARNERS
from scenarios.options import RunOptions
from scenarios.study.study_file import apply_flags, check_study
from tests.scenarios.learners.tiny_learners import SMALL
from tests.scenarios.study.test_same_fingerprint import RAW

CANNOT = {
    "cumulative",
    "geppnet",
    "geppnet_stm",
    "offline",
    "pathnet",
    "untrained",
}


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_a_learner_can_freeze_layers_or_is_refused_by_its_name(kind):
    raw = {**RAW, "learners": {kind: {"freeze": ["hidden1"], **SMALL.get(kind, {})}}}
    if kind in CANNOT:
        with pytest.raises(InputError, match=f"learners.{kind}.freeze: '{kind}'"):
            check_study(raw, "tiny")
        return
    checked = check_study(raw, "tiny")
    assert apply_flags(checked, RunOptions(seeds=3)).learners == checked.learners
