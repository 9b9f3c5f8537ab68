"""One finished run of the tiny study, for all tests of this folder."""

from pathlib import Path

import pytest

from tests.finished.small import copied, finished


@pytest.fixture(scope="session")
def proto(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The undisturbed run's directory; no test may change it."""
    return finished(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def run(tmp_path: Path, proto: Path) -> Path:
    """A copy that is recognized as finished, if nothing of it is changed."""
    return copied(proto, tmp_path / "a" / "b")
