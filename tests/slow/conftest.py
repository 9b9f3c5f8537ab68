"""One finished run of the tiny study, for all tests of this folder."""

from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The undisturbed run's directory; no test may change it."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    assert run(out)
    return out
