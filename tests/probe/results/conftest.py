"""A study with everything that is measured by default, trained once in a session of tests."""

import pytest

from tests.scenarios.tiny_run import PROBED, Tiny

BOTH = PROBED.replace("there = [1, 2]", "there = [1, 2], back = [2, 1]").replace(
    '"hidden1"', '"hidden1", "hidden2"'
)


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """Two tasks of five digits, in two orders and two seeds, two learners; not to be changed."""
    joint = (
        "[learners.joint]\nkind = 'finetune'\nexemplars.per_class = "
        "2\n[learners.offline]"
    )
    toml = BOTH.replace("[learners.offline]", joint)
    return Tiny(tmp_path_factory.mktemp("study") / "tiny").ran(toml, seeds=2)
