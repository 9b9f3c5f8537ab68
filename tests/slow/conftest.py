"""One finished run of the tiny study, for all tests of this folder, and a copy of it for each."""

import shutil
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import run


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The undisturbed run's directory; no test may change it."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    assert run(out)
    return out


@pytest.fixture
def out(tmp_path, finished):
    """A copy of it."""
    return Path(shutil.copytree(finished, tmp_path / "run"))
