"""The tiny study, trained once in a session of tests; each test that asks has a copy of its own."""

import shutil

import pytest

from tests.scenarios.tiny_run import Tiny


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory) -> Tiny:
    """The undisturbed run; no test may change it."""
    tiny = Tiny(tmp_path_factory.mktemp("finished") / "tiny")
    tiny.run()
    return tiny


@pytest.fixture
def tiny(tmp_path, finished_study) -> Tiny:
    """A copy of the finished run."""
    shutil.copytree(finished_study.folder, tmp_path / "tiny")
    return Tiny(tmp_path / "tiny")


@pytest.fixture
def fresh(tmp_path) -> Tiny:
    """A study that has not begun."""
    return Tiny(tmp_path / "fresh")
