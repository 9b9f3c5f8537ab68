"""Tables made of other results than are there now: whoever draws or writes them is told."""

from __future__ import annotations

import json
import time

import pytest

from probe.by_layer.code import code_hash
from probe.by_layer.fingerprint import RESULTS_VERSION
from probe.results.run_directory import older_tables, read_setup, survey
from scenarios.execution.locks import lock
from scenarios.study import run_directory
from tests.scenarios.execution.helpers import exit_code, fork, until
from tests.scenarios.tiny_run import TINY

SENTENCE = "these tables were not made of the present results, but of earlier ones"


class Stopped(Exception):
    """The run ends here, as by a kill."""


def stop(*_: object, **__: object) -> None:
    raise Stopped


@pytest.fixture
def shown(tiny, probe, monkeypatch):
    """Return what `probe figures` prints of the tables beside the figures' paths."""
    monkeypatch.setattr("scenarios.commands.figures.build", lambda root: [])

    def figures() -> str:
        code, out, err = probe(f"figures {tiny.root}")
        assert (code, err) == (0, "")
        return out

    return figures


@pytest.fixture
def killed(tiny):
    """Start a run of the study that ends at a function of the command that is named."""

    def run(at: str, toml: str = TINY, **flags: object) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"scenarios.commands.run.{at}", stop)
            with pytest.raises(Stopped):
                tiny.run(toml, **flags)

    return run


def test_of_a_finished_study_nothing_is_said(tiny, shown):
    assert shown() == ""
    tiny.run(seeds=2)
    assert SENTENCE not in shown()
    tiny.run()
    assert shown() == ""


@pytest.mark.parametrize("at", ["execute", "write_tables"])
@pytest.mark.parametrize("flags", [{"epochs": 2}, {"seeds": 2}, {"train_limit": 3}])
def test_a_run_that_is_killed_leaves_tables_of_before(tiny, shown, killed, at, flags):
    """Nothing is said to be not shown which is what is shown."""
    before = tiny.tables()
    killed(at, **flags)
    assert tiny.tables() == before
    assert shown().startswith(SENTENCE)
    assert "not shown" not in shown()
    tiny.run(**flags)
    assert SENTENCE not in shown()


def test_a_new_version_of_results_has_no_tables_yet(tiny, shown, monkeypatch):
    for module in ("fingerprint", "run_directory"):
        monkeypatch.setattr(f"scenarios.study.{module}.RESULTS_VERSION", RESULTS_VERSION + 1)
    assert shown().startswith(SENTENCE)


def test_a_recomputation_that_is_killed_before_its_tables(tiny, shown, killed, monkeypatch):
    monkeypatch.setattr(run_directory, "code_hash", lambda kind: code_hash(kind) + "x")
    assert "other code" in shown()
    killed("write_tables", recompute="changed")
    assert shown().startswith(SENTENCE)
    tiny.run()
    assert shown() == ""


def test_a_run_that_is_killed_before_it_has_changed_anything_leaves_its_own_tables(
    tiny, shown, killed
):
    killed("execute")
    assert shown() == ""


def test_who_waits_for_another_to_write_tables_says_so(tiny):
    def write() -> None:
        with lock(tiny.root):
            (tiny.folder / "locked").touch()
            time.sleep(1)

    process = fork(write)
    until((tiny.folder / "locked").exists)
    assert f"{tiny.root}: waiting for another process, which writes its tables" in tiny.run()
    assert exit_code(process) == 0
    assert "waiting" not in tiny.run()


@pytest.mark.parametrize("lose", [True, False])
def test_what_tables_are_made_of_may_not_be_known(tiny, lose):
    """As in a directory of an earlier version, or where somebody has written to it."""
    path = tiny.root / "study.json"
    record = json.loads(path.read_bytes())
    record = {k: v for k, v in record.items() if k != "tables"} if lose else {**record, "tables": 3}
    path.write_text(json.dumps(record))
    setup = read_setup(tiny.root)
    assert older_tables(tiny.root, survey(setup, tiny.root)).startswith(SENTENCE)
