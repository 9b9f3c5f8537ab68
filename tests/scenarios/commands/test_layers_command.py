"""`probe layers`: the features of a user's own model, as text and as JSON."""

import json
import sys

import pytest

from scenarios.user_code import UserCode

MINE = """
from torch import nn

class Mixing(nn.Sequential):
    def forward(self, x):
        y = self[0](x)
        return self[1](y - y.mean(0))

def mixing():
    return Mixing(nn.Linear(4, 6), nn.Linear(6, 2))

class Two(nn.Sequential):
    def forward(self, x):
        return x, super().forward(x)

two = Two(nn.Linear(4, 6), nn.Linear(6, 2))
made = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
"""


@pytest.fixture
def layers(probe, cwd):
    """Call `probe layers` where mine.py is; return its standard output."""
    (cwd / "mine.py").write_text(MINE)

    def call(line):
        code, out, err = probe(
            f"layers {line}" + ("" if "--input" in line else " --input 4")
        )
        assert (code, err) == (0, "")
        return out

    yield call
    sys.modules.pop("mine", None)


def rows(out):
    """Return the cells of a table's rows, by the feature."""
    by_feature = {}
    for line in out.splitlines():
        cells = [cell.strip() for cell in line.split("  ") if cell.strip()]
        if len(cells) in (6, 7):
            by_feature[cells[-6]] = cells[-6:]
    return by_feature


def test_the_logits_are_those_at_the_position_that_is_typed(layers):
    assert {"0", "1"} <= rows(layers("mine:two --output 1")).keys()


def test_text_and_json_with_the_reason_for_a_feature_that_cannot_be_cached(layers):
    """Sizes counted by hand: 4 x 6 + 6 parameters, then 6 x 2 + 2; six values of four bytes."""
    out = layers("mine:made")
    assert rows(out) == {
        "feature": [
            "feature",
            "type",
            "output",
            "cached per example",
            "frozen",
            "left",
        ],
        "0": ["0", "Linear", "6", "24 B", "30", "14"],
        "1": ["1", "ReLU", "6", "24 B", "30", "14"],
        "2": ["2", "Linear", "2", "8 B", "44", "0"],
    }
    assert out.endswith('* features = ["1", "2"]\n')
    found = json.loads(layers("mine:made --json"))
    assert found["suggested"] == ["1", "2"]
    first = {
        "type": "Linear",
        "output": [6],
        "tensors": 1,
        "cached_bytes": 24,
        "slow": None,
    }
    sizes = {"feature": "0", "frozen": 30, "left": 14, "suggested": False}
    assert found["features"][0] == {**first, **sizes}
    first, last = json.loads(layers("mine:mixing --json"))["features"]
    assert (first["cached_bytes"], first["slow"], last["cached_bytes"]) == (
        24,
        None,
        None,
    )
    text = layers("mine:mixing")
    assert rows(text)["1"][3] == "the slow way"
    assert f"{last['slow']}: 1\n" in text


def test_the_first_of_several_outputs_can_be_typed(layers):
    layers("mine:made")  # which writes and imports the file
    for output in (0, 1, None):
        entry = UserCode(network="mine:two", output=output).network_entry()
        assert entry.output == output
