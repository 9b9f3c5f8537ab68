"""`probe layers`: what it prints of a user's own model."""

import json
import subprocess
import sys

import pytest
import torch

from probe.cut.candidates import candidates
from probe.seeding import stream
from scenarios.commands.layers import sample_inputs
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

class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(2, 8), nn.Linear(8, 3)

    def forward(self, input_ids, attention_mask):
        assert input_ids.shape == attention_mask.shape == (len(input_ids), 5)
        read = self.words(input_ids) * attention_mask[..., None]
        return self.out(read.sum(1))

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(12, 4), nn.Linear(6, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, left, right):
        return self.out(self.left(left.flatten(1)) + self.right(right.flatten(1)))

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


def suggested(out):
    return json.loads(out.splitlines()[-1].partition(" = ")[2])


NAMED = "--input attention_mask=5{} --input input_ids=5{}"


@pytest.mark.parametrize(
    "flags", [NAMED.format(":int", ":int"), NAMED.format("", ":int"), NAMED + " --integers"]
)
def test_inputs_by_name(layers, flags):
    code, out, err = layers(f"mine:Masked {flags.replace('{}', '')}")
    assert (code, err) == (0, "")
    assert rows(out)["words"][2:] == ["5x8", "160 B", "16", "27"]
    assert suggested(out)[-1] == "out"


def test_inputs_in_order(layers):
    code, out, err = layers("mine:Two --input 3x2x2 --input 6")
    assert (code, err) == (0, "")
    assert rows(out)["right"][4:] == ["28", "62"]
    assert rows(out)["out"][4:] == ["90", "0"]
    code, out, err = layers("mine:Two --input right=6 --input left=3x2x2")
    assert (code, err) == (0, "")
    assert rows(out)["right"][4:] == ["28", "62"]


def test_one_input_by_name_is_given_by_name(layers):
    code, out, err = layers("mine:Words --input x=7:int --output logits")
    assert (code, err) == (0, "")
    assert suggested(out) == ["words", "reads", "out"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("mine:Two --input 6 --input 3x2x2", "on a batch of shape 3x6, 3x3x2x2: check --input"),
        ("mine:Two --input 3x2x2", "missing 1 required positional argument: 'right'"),
        (
            "mine:Masked --input input_ids=5 --input attention_mask=5:int",
            "on a batch of shape input_ids 3x5, attention_mask 3x5: check --input, and --integers",
        ),
        ("mine:Masked --input ids=5:int --input attention_mask=5:int", "keyword argument 'ids'"),
    ],
)
def test_inputs_that_the_model_does_not_take(layers, line, says):
    code, out, err = layers(line)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_a_sample_is_what_its_texts_say():
    alone = sample_inputs(["3x4"], False)
    assert torch.equal(alone, torch.randn(3, 3, 4, generator=stream(0, "sample")))
    words = sample_inputs(["50"], True)
    assert torch.equal(words, torch.randint(2, (3, 50), generator=stream(0, "sample")))
    one, two = sample_inputs(["3x4", "50:int"], False)
    assert torch.equal(one, alone)
    assert (two.dtype, set(two.flatten().tolist())) == (torch.int64, {0, 1})
    named = sample_inputs(["b=4", "a=2x3"], True)
    assert list(named) == ["b", "a"]
    assert [tensor.shape for tensor in named.values()] == [(3, 4), (3, 2, 3)]
    assert {tensor.dtype for tensor in named.values()} == {torch.int64}
    assert list(sample_inputs(["x=3"], False)) == ["x"]


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
