"""Files beside a study are no code, whatever they are called and whoever does the jobs."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.execution.helpers import TINY

pytestmark = pytest.mark.slow

DECOYS = ("pickle", "random", "numpy", "scenarios", "probe", "torch", "sitecustomize")


@pytest.fixture
def folder(tmp_path):
    """A folder with modules that say so when they are executed."""
    for name in DECOYS:
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'executed')!r}, 'a')\n"
        )
    # The decoys work: so they are seen if they are executed.
    subprocess.run([sys.executable, "-c", "import pickle"], cwd=tmp_path, check=False)
    (tmp_path / "executed").unlink()
    return tmp_path


@pytest.mark.parametrize(
    "executor", ["pool", pytest.param("ray", marks=pytest.mark.soak)]
)
def test_nothing_of_it_is_executed(folder, executor):
    # As users start it: `python -m` would look in the folder by itself.
    command = [
        Path(sys.executable).with_name("probe"),
        "run",
        TINY,
        "--learners",
        "finetune",
    ]
    flags = ["--executor", executor, "--workers", "2", "--out", "run"]
    subprocess.run(
        [*command, *flags], cwd=folder, stdout=subprocess.DEVNULL, check=True
    )
    assert not (folder / "executed").exists()
