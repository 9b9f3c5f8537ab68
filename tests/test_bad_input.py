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

from tests.bad_input import files, networks, studies
from tests.bad_input.making import SPRUNG, TINY, TRAP
from tests.bad_input.refused import assert_refused, last_changes

FILES = files.FILES | networks.FILES | studies.FILES
MISTAKES = files.MISTAKES | networks.MISTAKES | studies.MISTAKES
# A module that was found to be broken must not be found again by another's name.
MINE = {Path(name).stem for name in FILES if name.endswith(".py")}


@pytest.fixture(scope="module")
def cwd(tmp_path_factory):
    """A folder with all the files; no test may change it."""
    folder = tmp_path_factory.mktemp("cwd")
    studies = {
        "tiny.toml": TINY,
        "bom.toml": "\ufeff" + TINY + "probing.readouts.knn.k = 50",
    }
    for name, content in {**FILES, **studies}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
    return folder


@pytest.fixture(autouse=True)
def apart(cwd, monkeypatch):
    """Keep Python from writing what it compiles, and torch's weights in that folder."""
    hub = torch.hub.get_dir()
    torch.hub.set_dir(str(cwd / "hub"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    torch.hub.set_dir(hub)
    for name in MINE & sys.modules.keys():
        del sys.modules[name]


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_sentence_that_names_it_and_changes_nothing(probe, cwd, line):
    before = last_changes(cwd)
    assert_refused(probe(line), *MISTAKES[line])
    assert last_changes(cwd) == before


def test_a_system_without_another_thread(probe, monkeypatch):
    start = "can't start new thread"
    monkeypatch.setattr(
        threading.Thread, "start", Mock(side_effect=RuntimeError(start))
    )
    assert_refused(probe("list"), start)


def test_the_trap_is_sprung_where_pickles_are_run(cwd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.close(pickle.loads(TRAP))
    assert (tmp_path / SPRUNG).exists()
    for name in ("ck-trap/task2.pt", "trap-torch.pt", "trap-legacy.pt"):
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
        "layers ownnets:plain --input 4",
        "features ok --network shufflenet_v2_x0_5 --weights random",
    ],
)
def test_the_same_without_the_mistake_is_accepted(probe, tmp_path, line):
    if line.startswith("features"):
        line += f" --out {tmp_path / 'out.npz'}"
    if line.startswith("redundancy"):
        line += f" --out {tmp_path / 'out'}"
    code, out, err = probe(line)
    assert (code, err) == (0, "")
    assert out
