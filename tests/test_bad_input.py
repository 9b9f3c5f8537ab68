"""One sentence and exit code 2 for every bad input, no file changed and no code of a file run."""

import os
import pickle
import sys
import threading
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from tests.bad_input import FILES, MISTAKES, MODULES
from tests.bad_input.making import SPRUNG, TINY, TRAP
from tests.bad_input.places import Recorder
from tests.bad_input.refused import assert_refused, last_changes

# A module that was found to be broken must not be found again by another's name.
MINE = {name.partition("/")[0].removesuffix(".py") for name in FILES if name.endswith(".py")}


@pytest.fixture(scope="module")
def cwd(tmp_path_factory):
    """A folder with all the files; no test may change it."""
    folder = tmp_path_factory.mktemp("cwd")
    for name, content in {**FILES, "tiny.toml": TINY, "bom.toml": "\ufeff" + TINY}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture(scope="module")
def recorder():
    """Return the places that refused, and the lines that were refused."""
    return Recorder(), set()


@pytest.fixture(autouse=True)
def apart(cwd, monkeypatch, recorder):
    """Note refusals; keep Python from writing what it compiles, torch's weights in that folder."""
    hub = torch.hub.get_dir()
    torch.hub.set_dir(str(cwd / "hub"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with recorder[0].noting(""):
        yield
    torch.hub.set_dir(hub)
    for name in MINE & sys.modules.keys():
        del sys.modules[name]


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_sentence_and_changes_nothing(probe, cwd, line, recorder):
    before = last_changes(cwd)
    assert_refused(probe(line), MISTAKES[line].split("..."))
    assert last_changes(cwd) == before
    recorder[1].add(line)


def test_a_system_without_another_thread(probe, monkeypatch):
    start = "can't start new thread"
    monkeypatch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError(start)))
    assert_refused(probe("list"), [f"{start}: end other processes, or raise their limit"])


def test_no_case_hides_another():
    assert sum(len(module.MISTAKES) for module in MODULES) == len(MISTAKES)
    assert sum(len(module.FILES) for module in MODULES) == len(FILES)


def test_every_refusal_of_the_command_line_has_a_case(probe, recorder):
    """For the refusals of other rooms see `python -m tests.bad_input.places`."""
    reached, refused = recorder
    # None are left, unless the tests above were not asked for.
    for line in MISTAKES.keys() - refused:
        probe(line)
    rooms = ("scenarios/commands/", "scenarios/options.py")
    assert [place for place in reached.missed() if place.startswith(rooms)] == []


def test_the_trap_is_sprung_where_pickles_are_run(cwd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.close(pickle.loads(TRAP))
    assert (tmp_path / SPRUNG).exists()
    for name in ("trap.pt", "trap-torch.pt", "trap-entry.pt", "trap-legacy.pt"):
        Path(SPRUNG).unlink()
        with suppress(Exception):
            torch.load(cwd / name, weights_only=False)
        assert Path(SPRUNG).exists(), name


@pytest.mark.parametrize(
    "line",
    [
        "metrics R.csv --json",
        "metrics R.npy --json",
        "redundancy good.npz",
        "run bom.toml --dry-run",
        f"run tiny.toml --dry-run --out _{90 * 'x'}",
        "layers mine:plain --input 4",
        "features ok --network shufflenet_v2_x0_5 --weights random",
    ],
)
def test_the_same_without_the_mistake_is_accepted(probe, tmp_path, line):
    name = "out.npz" if line.startswith("features") else "out"
    flag = f" --out {tmp_path / name}" if line.startswith(("redundancy", "features")) else ""
    code, out, err = probe(line + flag)
    assert (code, err) == (0, "")
    assert out
