"""A study's file alone runs no code, whatever it names: only what is typed is imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

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

# Every key of a study's file that takes a name, and in which @ stands for it.
REFUSED: dict[str, str] = {
    **dict.fromkeys(
        (
            *("scenario.data", "scenario.kind", "network.name", "storage", "orders", "load"),
            *("training.optimizer", "training.init", "retraining.init", "probing.batch_norm"),
            *("report.mean", "probing.readouts.linear"),
        ),
        '"@"',
    ),
    "network.features": '["@"]',
    "report.heads": '["@"]',
    "probing.readouts": '{ "@" = "all" }',
    "learners": '{ a = { kind = "@" } }',
    "learners.er": '{ memory_total = 20, sampling = "@" }',
    "scenario": '{ data = "digits", "@" = 1 }',
}
# Names that may be anything, as far as a file can be called so.
FREE: dict[str, str] = {
    "name": '"@"',
    "learners": '{ "@" = {} }',
    "orders": '{ "@" = [1, 2, 3, 4, 5] }',
    "report.weights": '{ "@" = [1, 0, 0, 0, 0, 0, 0] }',
}


class Begun(Exception):
    """All was accepted, and the jobs would begin."""


@pytest.fixture(autouse=True)
def trap(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that could be imported, from the current folder, and tells if it was."""

    def begin(*_: Any, **__: Any) -> None:
        raise Begun

    (cwd / "toml_trap.py").write_text(TRAP)
    monkeypatch.syspath_prepend(str(cwd))
    monkeypatch.delitem(sys.modules, "toml_trap", raising=False)
    monkeypatch.setattr("scenarios.commands.run.execute", begin)
    return cwd / "sprung"


@pytest.mark.parametrize(("key", "value"), [*REFUSED.items(), *FREE.items()])
def test_no_key_of_a_study_makes_it_import(
    probe: Any, cwd: Path, trap: Path, key: str, value: str
) -> None:
    for named in NAMED:
        text = study({key: value.replace("@", named)})
        (cwd / "study.toml").write_text(text.replace("{folder}", str(cwd)))
        try:
            code, _, said = probe("run study.toml --workers 1")
        except Begun:
            assert FREE.get(key) == value
        else:
            assert (code, said.count("\n")) == (2, 1), named
            assert said.startswith("error: study.toml")
        assert not trap.exists(), named
        assert "toml_trap" not in sys.modules


def test_a_typed_file_is_imported(probe: Any, cwd: Path, trap: Path) -> None:
    toml = study({"network.name": '"own"', "network.features": '["1"]'})
    (cwd / "study.toml").write_text(toml)
    assert "unknown network 'own'" in probe("run study.toml --workers 1")[2]
    assert not trap.exists()
    with pytest.raises(Begun):
        probe("run study.toml --workers 1 --load toml_trap.py")
    assert trap.exists()
