"""Shared fixtures: one torch thread, and the command line called as if it had been typed."""

import gc
import shlex
import sys

import pytest
import torch
from hypothesis import HealthCheck, settings

from scenarios.commands.main import main

# How long an example takes is the machine's business, which may be busy with other
# work.
settings.register_profile(
    "busy", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy")


def pytest_collection_modifyitems(items):
    """Begin with the slow files: the last to begin should not be the longest."""
    items.sort(key=lambda item: "slow" not in item.keywords)
    # A collection of garbage looks through every object, most of them those of torch.
    gc.freeze()
    gc.set_threshold(5_000)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Two threads on two busy cores can be many times slower, and results depend on it."""
    torch.set_num_threads(1)


@pytest.fixture(scope="module", autouse=True)
def files_of_tests_stay_apart(tmp_path_factory):
    """Draw the same, and forget modules that tests have written: other files use their names."""
    torch.manual_seed(0)
    yield
    folder = str(tmp_path_factory.getbasetemp())
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", "")).startswith(folder):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def the_same_draws_after_any_other_tests():
    torch.manual_seed(0)


@pytest.fixture
def cwd(tmp_path):
    """Return the folder in which `probe` is called; a module may have one of its own."""
    return tmp_path


@pytest.fixture
def probe(cwd, monkeypatch, capsys):
    """Call the command line in that folder: exit code, standard output, standard error."""
    monkeypatch.chdir(cwd)
    monkeypatch.delenv("PROBE_DATA", raising=False)

    def call(line):
        monkeypatch.setattr(sys, "argv", ["probe", *shlex.split(line)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, *capsys.readouterr()

    return call
