"""Tiny studies, trained once in a session of tests; each test that asks has a copy of its own."""

import shutil

import pytest

from tests.scenarios.tiny_run import PROBED, Tiny, probed


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory):
    """The undisturbed run; no test may change it."""
    return Tiny(tmp_path_factory.mktemp("finished") / "tiny").ran()


@pytest.fixture(scope="session")
def probed_study(tmp_path_factory):
    """The run with everything that is measured by default; no test may change it."""
    return Tiny(tmp_path_factory.mktemp("probed") / "tiny").ran(PROBED)


@pytest.fixture(scope="session")
def kept_study(tmp_path_factory):
    """The same with all of its checkpoints; no test may change it."""
    return Tiny(tmp_path_factory.mktemp("kept") / "tiny").ran(
        probed('checkpoints = "all"')
    )


@pytest.fixture
def tiny(tmp_path, finished_study):
    """A copy of the finished run."""
    return Tiny(shutil.copytree(finished_study.folder, tmp_path / "tiny"))


@pytest.fixture
def default(tmp_path, probed_study):
    """A copy of the run with everything that is measured by default."""
    return Tiny(shutil.copytree(probed_study.folder, tmp_path / "default"))


@pytest.fixture
def fresh(tmp_path):
    """A study that has not begun."""
    return Tiny(tmp_path / "fresh")
