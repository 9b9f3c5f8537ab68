"""Which `probe run` is the same as the one that has finished a study, and which is another."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
from scenarios.study.shortcut import told

from scenarios.commands import run as module
from scenarios.commands.flags import RunFlags
from scenarios.study import stamp
from tests.finished.small import (
    DIGITS,
    again,
    finished,
    goes_on,
    probe,
    shown,
    tables,
    touched,
)

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("flag", [field.name for field in fields(RunFlags)])
def test_every_flag_counts_but_where_the_run_directory_is(flag: str) -> None:
    changed = replace(RunFlags(), **{flag: "given"})
    assert (told(changed) == told(RunFlags())) == (flag == "out")


@pytest.mark.parametrize(
    "flags", ["--seeds 1", "--cache-budget 1GB", "--data .", "--executor inline", "--shard 1/1"]
)
def test_a_flag_that_changes_nothing(run: Path, flags: str) -> None:
    goes_on(run.parent, *flags.split())


def test_a_run_directory_that_was_moved(run: Path, tmp_path: Path, proto: Path) -> None:
    run.rename(tmp_path / "moved")
    said = probe("run", run.parent / "tiny.toml", "--out", tmp_path / "moved", "--workers", 1)
    assert (said.code, said.short) == (0, True)
    assert str(tmp_path / "moved" / "rows.csv") in said.out
    assert shown(tmp_path / "moved") == shown(proto)


def test_a_comment_in_the_file(run: Path, proto: Path) -> None:
    with (run.parent / "tiny.toml").open("a") as file:
        file.write("# as it was\n")
    assert again(run.parent).code == 0
    assert shown(run) == shown(proto)


@pytest.mark.parametrize(
    "change",
    [("epochs = 1", "epochs = 2"), ("train_limit = 5", "train_limit = 6"), ("mlp", "lenet")],
    ids=str,
)
def test_another_study_is_refused(run: Path, change: tuple[str, str]) -> None:
    (run.parent / "tiny.toml").write_text(DIGITS.replace(*change))
    said = again(run.parent)
    assert (said.code, said.short) == (2, False)
    assert said.err.startswith("error: ")


@pytest.mark.parametrize(
    "other",
    [
        DIGITS + '[report]\nheads = ["multi"]\n',
        DIGITS.replace("[learners.finetune]\n[learners.offline]", "[learners.offline]")
        + "[learners.finetune]\n",
    ],
    ids=["heads", "order of learners"],
)
def test_what_is_shown_in_another_way(run: Path, proto: Path, tmp_path: Path, other: str) -> None:
    """Every time as in a run directory that was never asked for anything else."""
    undisturbed = finished(tmp_path / "other", other)
    assert tables(undisturbed) != tables(proto)
    for toml, expected in ((other, undisturbed), (DIGITS, proto), (other, undisturbed)):
        (run.parent / "tiny.toml").write_text(toml)
        long, short = again(run.parent), again(run.parent)
        assert (long.code, long.short, short.code, short.short) == (0, False, 0, True)
        assert tables(run) == tables(expected)
        assert short.results == long.results


def test_a_date_is_not_its_text(tmp_path: Path) -> None:
    finished(tmp_path, f'name = "2020-01-01"\n{DIGITS}')
    assert again(tmp_path).short
    (tmp_path / "tiny.toml").write_text(f"name = 2020-01-01\n{DIGITS}")
    said = again(tmp_path)
    assert (said.code, said.short) == (2, False)
    assert "name: expected text in quotes" in said.err


def test_a_file_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(f"a{'.a' * 1500} = 1\n{DIGITS}")
    said = again(tmp_path)
    assert (said.code, said.short, said.err.count("\n")) == (2, False, 1)


def test_a_current_folder_that_is_gone(
    tmp_path: Path, run: Path, proto: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With absolute paths nothing needs it."""
    (tmp_path / "gone").mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        for _ in range(2):
            assert again(run.parent).code == 0
    assert shown(run) == shown(proto)


VERSIONS = """
import importlib, json, sys
from pathlib import Path
from scenarios.commands.flags import RunFlags
from scenarios.study import stamp
from scenarios.study.shortcut import told
found = {}
for folder in sys.argv[1:]:
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    stamp.code_hash.cache_clear()
    found[Path(folder).name] = told(RunFlags()), stamp.sources(Path(folder), b"")
    del sys.path[0]
print(json.dumps(found))
"""


def test_versions_of_what_results_and_figures_are_made_with(tmp_path: Path) -> None:
    """Also of a build of torch: those for CPU and GPU have one version, but say more themselves."""
    for name in ("torch", "numpy", "scipy", "scikit-learn", "matplotlib"):
        about = tmp_path / name / f"{name.replace('-', '_')}-0.1.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Name: {name}\nVersion: 0.1\n")
    for build in ("+cpu", "+cu126"):
        shutil.copytree(tmp_path / "torch", tmp_path / build)
        (tmp_path / build / "torch").mkdir()
        (tmp_path / build / "torch" / "__init__.py").write_text("raise ImportError\n")
        (tmp_path / build / "torch" / "version.py").write_text(f"__version__ = '0.1{build}'\n")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing else").mkdir()
    folders = sorted(path for path in tmp_path.iterdir())
    found = json.loads(python(VERSIONS, *folders))
    commands = {name: command for name, (command, _) in found.items()}
    assert commands.pop("nothing else") == commands["nothing"] == commands.pop("matplotlib")
    assert len(set(commands.values())) == len(commands) == 7
    drawn = {name: made_of for name, (_, made_of) in found.items()}
    assert len({drawn[name] for name in ("nothing", "matplotlib", "numpy")}) == 3
    assert drawn["nothing else"] == drawn["nothing"]


CODE = """
import sys
from pathlib import Path
from scenarios.study import stamp
here = Path("probe"), Path("figures"), Path("scenarios"), Path("scenarios/study")
def seen():
    stamp.code_hash.cache_clear()
    return stamp.sources(Path("nowhere"), b"")
first = seen()
for folder in here:
    for path in (next(folder.glob("[a-z]*.py")), folder / "__init__.py"):
        before = path.read_bytes()
        path.write_bytes(before + b"#")
        assert seen() != first, path
        path.write_bytes(before)
    assert seen() == first
    (folder / "more.py").write_bytes(b"")
    assert seen() != first, folder
    (folder / "more.py").rename(folder / "more.pyc")
    assert seen() == first
print("seen")
"""


def test_code_of_this_package(tmp_path: Path) -> None:
    """Every byte of every module, wherever the package lies."""
    for package in ("probe", "figures", "scenarios"):
        shutil.copytree(ROOT / package, tmp_path / package)
    assert python(CODE, cwd=tmp_path) == "seen\n"


def test_tables_of_other_code_are_made_anew(
    run: Path, proto: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = touched(run)
    monkeypatch.setattr(stamp, "code_hash", lambda: "other code")
    goes_on(run.parent)
    names = {name for name, now in touched(run).items() if before.get(name) != now}
    assert {*shown(run), "tables.json"} <= names
    assert not any(name.startswith("jobs") for name in names)


def test_code_that_changes_while_the_study_runs(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables are of the code that was there at the start, and that is what is written down."""
    (run / "tables.json").unlink()
    stamp.code_hash.cache_clear()
    true, seen = module.show_progress, []

    def changed(*arguments: object) -> object:
        seen.append(monkeypatch.setattr(stamp, "_modules", lambda *_: [("probe/x.py", b"new")]))
        return true(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "show_progress", changed)
    assert again(run.parent).code == 0
    assert seen
    monkeypatch.undo()
    stamp.code_hash.cache_clear()
    assert again(run.parent).short


def python(code: str, *arguments: object, cwd: Path = ROOT) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(cwd)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
