"""The programs of docs/examples, small: a training, `probe model`, and what comes out."""

import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import probe as package
from probe.tables.table_file import read_table

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
TENS = "--tasks 0-1,2-3,4-5,6-7,8-9"
FILES = (
    "--checkpoints 'ckpt/seed{seed}-task{task}.pt' --offline 'ckpt/offline-{seed}.pt'"
)


@pytest.fixture
def programs(cwd, monkeypatch):
    """Return a function that runs one of the programs, in a new folder with all of them."""
    monkeypatch.delenv("MNIST", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for path in EXAMPLES.glob("*.py"):
        shutil.copy(path, cwd)

    def run(*line):
        done = subprocess.run(
            [sys.executable, *line], cwd=cwd, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    # The next test has another folder with modules of the same names.
    for path in EXAMPLES.glob("*.py"):
        sys.modules.pop(path.stem, None)


def _layers(cwd, name, features):
    """Check floor and ceiling of every layer but the output in a run directory; load it."""
    rows = read_table(cwd / "runs" / name / "layers.csv", "layers").query(
        "task_position.isna()"
    )
    found = set(zip(rows["readout"], rows["feature"], rows["quantity"], strict=True))
    wanted = set(product(("retrain", "linear"), features))
    for quantity in ("accuracy", "floor", "ceiling", "missing"):
        assert {each[:2] for each in found if each[2] == quantity} >= wanted
    assert (cwd / "runs" / name / "figures" / "layers.png").is_file()
    return package.load(cwd / "runs" / name)


@pytest.mark.soak
def test_an_own_cnn_by_a_plain_loop_and_its_checkpoints(probe, cwd, programs):
    programs("cnn.py", "--seeds", "2", "--epochs", "2")
    line = (
        f"model cnn:build {FILES} --data cnn:load {TENS} --epochs 2 --workers 1 "
        "--tables"
    )
    code, out, err = probe(line)
    assert (code, err) == (0, "")
    assert "trained there" in out
    found = _layers(cwd, "model-cnn-build", ["block1", "block2", "hidden", "output"])
    assert found.seeds == 2
    # Fine-tuning forgets the tasks before the last, at the output.
    assert found.R.values[5, :3].max() < 0.3 < found.R.values[1:, :].max()


@pytest.mark.soak
def test_replay_of_avalanche_by_the_plugin(probe, cwd, programs):
    pytest.importorskip("avalanche", reason="the extra avalanche is not installed")
    programs("replay.py", "--seeds", "1", "--epochs", "2")
    code, _, err = probe(
        "model rec --network replay:build --train-offline --epochs 2 --workers 1"
    )
    assert (code, err) == (0, "")
    _layers(cwd, "model-replay-build", ["block1", "block2", "hidden", "output"])


@pytest.mark.soak
def test_a_text_classifier_of_transformers_by_the_callback(probe, cwd, programs):
    pytest.importorskip(
        "transformers", reason="the extra transformers is not installed"
    )
    programs("text.py", "--seeds", "1", "--epochs", "2")
    line = (
        "model rec --network text:build --train-offline --epochs 2 --learning-rate "
        "0.002"
    )
    code, _, err = probe(f"{line} --workers 1")
    assert (code, err) == (0, "")
    found = _layers(
        cwd, "model-text-build", ["bert.embeddings", "bert.encoder", "bert.pooler"]
    )
    assert found.R.values[3, 2] > 0.5


@pytest.mark.soak
def test_frozen_layers_print_what_stands_on_the_page(programs):
    """But shares, which depend on how a machine rounds."""
    page = (EXAMPLES.parent / "two_checkpoints.md").read_text("utf-8")
    head, columns, *lines = programs("frozen_layers.py").splitlines()
    table = page.partition(f"{head}\n{columns}\n")[2].splitlines()
    for line, expected in zip(lines, table[:4], strict=True):
        numbers = list(map(float, line.split()[-3:]))
        assert numbers == pytest.approx(list(map(float, expected.split()[-3:])), abs=3)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["lora.py", "questions.py"])
def test_a_program_finds_what_its_page_concludes(programs, name):
    """By its own assertions."""
    if name == "questions.py":
        pytest.importorskip("transformers", reason="it uses the extra `zoo`")
    programs(name)
