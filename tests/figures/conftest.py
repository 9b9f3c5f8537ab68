"""A study whose every figure can be drawn, written once in a session of tests."""

import pytest

from tests.figures import papers


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory):
    """The run directory; figures may be drawn in it."""
    return papers.run_directory(tmp_path_factory.mktemp("run") / "study")
