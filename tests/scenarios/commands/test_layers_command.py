"""`probe layers`: what it prints of a user's own model."""

import json
import subprocess
import sys

import pytest
import torch

from probe.cut.candidates import candidates
from probe.seeding import stream
from scenarios.networks import ARCHITECTURES, build_network
from scenarios.user_model import current_folder, load_model

MINE = """
from torch import nn

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5, 8)
        self.reads = nn.LSTM(8, 6, batch_first=True)
        self.spare = nn.Dropout()
        self.out = nn.Linear(6, 3)

    def forward(self, x):
        y, _ = self.reads(self.words(x))
        return {"logits": self.out(self.spare(y[:, -1])), "state": y}

class Mixing(nn.Sequential):
    def forward(self, x):
        y = self[0](x)
        return self[1](y - y.mean(0))

def mixing():
    return Mixing(nn.Linear(4, 6), nn.Linear(6, 2))

made = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
"""


@pytest.fixture
def layers(probe, cwd):
    """Call `probe layers` where mine.py is: exit code, standard output and error."""
    (cwd / "mine.py").write_text(MINE)

    def call(line):
        return probe(f"layers {line}" + ("" if "--input" in line else " --input 4"))

    yield call
    sys.modules.pop("mine", None)


def rows(out):
    """Return the cells of a table's rows, by the feature."""
    cells = [line.split("  ") for line in out.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in cells]
    return {line[-6]: line[-6:] for line in cells if len(line) in (6, 7)}


def test_a_model_of_the_current_directory(layers):
    code, out, err = layers("mine:made")
    assert (code, err) == (0, "")
    assert rows(out) == {
        "feature": ["feature", "type", "output", "cached per example", "frozen", "left"],
        "0": ["0", "Linear", "6", "24 B", "30", "14"],
        "1": ["1", "ReLU", "6", "24 B", "30", "14"],
        "2": ["2", "Linear", "2", "8 B", "44", "0"],
    }
    assert [line.split()[1] for line in out.splitlines() if line.strip().startswith("*")] == [
        "1",
        "2",
        "features",
    ]
    assert out.endswith('* features = ["1", "2"]\n')


def test_words_and_named_logits(layers):
    code, out, _ = layers("mine:Words --input 7 --integers --output logits")
    assert code == 0
    assert rows(out)["words"] == ["words", "Embedding", "7x8", "224 B", "40", "405"]
    assert rows(out)["reads"][2] == "7x6, 1 of 3"
    assert out.endswith('* features = ["words", "reads", "out"]\n')


def test_what_cannot_be_cached_comes_with_the_reason(layers):
    code, out, _ = layers("mine:mixing")
    assert code == 0
    assert rows(out)["1"][3] == "the slow way"
    assert rows(out)["0"][3] == "24 B"
    reason = "no values with one row per example stand between its two parts"
    assert f"the slow way, as {reason}: 1\n" in out
    assert out.endswith('* features = ["0", "1"]\n')


def test_a_network_of_ours_by_its_name_with_what_candidates_says(layers):
    code, out, _ = layers("cnn3 --input 1x12x12")
    assert code == 0
    features = ARCHITECTURES["cnn3"].features
    chosen = next(line for line in out.splitlines() if line.startswith("* features = "))
    assert json.loads(chosen.partition(" = ")[2]) == list(features)
    network = build_network("cnn3", (1, 12, 12), 10)
    found = candidates(network, stream_of_inputs(1, 12, 12))
    assert list(rows(out)) == ["feature", *(one.feature for one in found)]
    for one in found:
        assert rows(out)[one.feature][4:] == [f"{one.frozen:,}", f"{one.left:,}"]


def stream_of_inputs(*shape):
    return torch.randn(3, *shape, generator=stream(0))


def test_a_factory_draws_the_same_weights_every_time_and_nothing_from_the_global_stream(layers):
    before = torch.get_rng_state()
    with current_folder():
        first, second = load_model("mine:mixing"), load_model("mine:mixing")
    assert first is not second
    assert torch.equal(first[0].weight, second[0].weight)
    assert torch.equal(torch.get_rng_state(), before)
    assert load_model("mine:made") is sys.modules["mine"].made


def test_help_imports_no_torch():
    code = (
        "import sys\nfrom scenarios.commands.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "layers", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--integers" in done.stdout
    assert done.stdout.splitlines()[-1] == "False"
