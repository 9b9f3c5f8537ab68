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


@probe.data("own-data")
def load():
    return build()


def __getattr__(name):
    Path(__file__).with_name("sprung").touch()
    raise AttributeError(name)
"""

NAMED = (
    *("toml_trap", "toml_trap:build", "toml_trap.build", "toml_trap.py", "./toml_trap.py:build"),
    *("{folder}/toml_trap.py", "{folder}/toml_trap.py:load", "own"),
    "__import__('toml_trap')",
)
"""Ways to name the file that other tools would import."""

GIVEN = '{{ a = {{ kind = "{kind}", networks = [{{ {fields} }}] }} }}'

FIELDS = {
    **{
        key: {key: '"{}"'}
        for key in (
            *("name", "scenario.data", "scenario.kind", "network.name", "storage", "orders"),
            *("training.optimizer", "training.init", "training.schedule", "training.precision"),
            *("retraining.init", "probing.batch_norm", "probing.checkpoints", "report.mean"),
            *("probing.readouts.linear", "probing.readouts.retrain", "load", "plugins"),
        )
    },
    "network.features": {"network.features": '["{}"]'},
    "report.heads": {"report.heads": '["{}"]'},
    "readout": {"probing.readouts": '{{ "{}" = "all" }}'},
    "learner's name": {"learners": '{{ "{}" = {{}} }}'},
    "kind": {"learners": '{{ a = {{ kind = "{}" }} }}'},
    "order's name": {"orders": '{{ "{}" = [1, 2, 3, 4, 5] }}'},
    "sampling": {"learners": '{{ er = {{ memory_total = 20, sampling = "{}" }} }}'},
    "offline, path": {
        "learners": GIVEN.format(
            kind="offline", fields='order = "", seed = 0, step = 5, hash = "x", path = "{}"'
        )
    },
    "untrained, path": {
        "learners": GIVEN.format(
            kind="untrained", fields='order = "", seed = 0, step = 0, hash = "x", path = "{}"'
        )
    },
    "weights": {"report.weights": '{{ "{}" = [1, 0, 0, 0, 0, 0, 0] }}'},
    "key": {"scenario": '{{ data = "digits", "{}" = 1 }}'},
}
"""Every place of a study's file that takes a name, by what it is called here."""


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


@pytest.mark.parametrize("field", FIELDS)
def test_no_field_of_a_study_makes_it_import(probe: Any, cwd: Path, trap: Path, field: str) -> None:
    for named in NAMED:
        changes = {
            key: value.replace("{{", "{").replace("}}", "}").replace("{}", named)
            for key, value in FIELDS[field].items()
        }
        (cwd / "study.toml").write_text(study(changes).replace("{folder}", str(cwd)))
        try:
            code, _, said = probe("run study.toml --workers 1")
        except Begun:
            # A name that may be anything, as of the study.
            assert field in _FREE
        else:
            assert (code, said.count("\n")) == (2, 1), named
            assert said.startswith("error: study.toml")
        assert not trap.exists(), named
        assert "toml_trap" not in sys.modules


_FREE = {"name", "learner's name", "order's name", "weights", "offline, path", "untrained, path"}


def test_what_is_typed_makes_it_import(probe: Any, cwd: Path, trap: Path) -> None:
    toml = study({"network.name": '"own"', "network.features": '["1"]'})
    (cwd / "study.toml").write_text(toml)
    code, _, said = probe("run study.toml --workers 1")
    assert code == 2
    assert not trap.exists()
    assert "unknown network 'own'" in said
    with pytest.raises(Begun):
        probe("run study.toml --workers 1 --load toml_trap.py")
    assert trap.exists()
