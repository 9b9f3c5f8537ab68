"""A study's file alone runs no code, whatever it names: only what is typed is imported."""

import sys
from contextlib import suppress

import pytest

from tests.bad_input.making import study

TRAP = """
from pathlib import Path

Path(__file__).with_name("sprung").touch()

import probe


@probe.network("own", features=["0"])
def build():
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.ReLU(), nn.Linear(10, 10))


def __getattr__(name):
    Path(__file__).with_name("sprung").touch()
    raise AttributeError(name)
"""

NAMED = ("toml_trap", "./toml_trap.py:build", "{folder}/toml_trap.py", "own")
"""Ways to name the file that other tools would import."""

NAME = '"@"'
NAMES = '["@"]'
# Keys of a study's file that take a name, in which @ stands for it.
KEYS = {
    **dict.fromkeys(
        ("name", "scenario.data", "scenario.kind", "network.name", "storage"), NAME
    ),
    **dict.fromkeys(
        ("training.optimizer", "retraining.init", "probing.batch_norm", "load"), NAME
    ),
    **dict.fromkeys(("network.features", "report.heads"), NAMES),
    "orders": '{ "@" = [1, 2, 3, 4, 5] }',
    "probing.readouts": '{ "@" = "all" }',
    "learners": '{ "@" = {}, a = { kind = "@" } }',
    "learners.er": '{ memory_total = 20, sampling = "@" }',
    "report.weights": '{ "@" = [1, 0, 0, 0, 0, 0, 0] }',
    "scenario": '{ data = "digits", "@" = 1 }',
}


class Begun(Exception):
    """All was accepted, and the jobs would begin."""


@pytest.fixture(autouse=True)
def trap(cwd, monkeypatch):
    """A file that could be imported, from the current folder, and tells if it was."""

    def begin(*_, **__):
        raise Begun

    (cwd / "toml_trap.py").write_text(TRAP)
    monkeypatch.syspath_prepend(str(cwd))
    monkeypatch.delitem(sys.modules, "toml_trap", raising=False)
    monkeypatch.setattr("scenarios.commands.run.execute", begin)
    return cwd / "sprung"


@pytest.mark.parametrize("key", KEYS)
def test_no_key_of_a_study_makes_it_import(probe, cwd, trap, key):
    for named in NAMED:
        text = study({key: KEYS[key].replace("@", named)})
        (cwd / "study.toml").write_text(text.replace("{folder}", str(cwd)))
        # Some names may be anything, as far as a file can be called so.
        with suppress(Begun):
            assert probe("run study.toml --workers 1")[0] == 2
        assert not trap.exists(), named
        assert "toml_trap" not in sys.modules


def test_a_typed_file_is_imported(probe, cwd, trap):
    toml = study({"network.name": '"own"', "network.features": '["1"]'})
    (cwd / "study.toml").write_text(toml)
    assert "unknown network 'own'" in probe("run study.toml --workers 1")[2]
    assert not trap.exists()
    with pytest.raises(Begun):
        probe("run study.toml --workers 1 --load toml_trap.py")
    assert trap.exists()
