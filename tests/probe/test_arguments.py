"""Arguments of public functions: what is none ends in one sentence that names it."""

import inspect
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import probe
from probe.arguments import checked
from probe.errors import InputError
from probe.validation import PositiveInt
from tests.probe.one_pair import AFTER, BEFORE, NEW, OLD, TEST, TRAIN

BAD = {
    "None": None,
    "a text": "1",
    "an empty text": "",
    "a fraction": 2.5,
    "NaN": float("nan"),
    "true": True,
    "negative": -1,
    "huge": 10**30,
    "a list": [1],
    "a mapping": {"a": 1},
    "an object": object(),
    "an array": np.array([1, 2]),
    "a tensor": torch.ones(1),
    "a function": lambda *args: 1,
    "a path": Path("absent/x"),
    "no path": "a\0b",
}
X, _ = OLD
CALLS = {
    "causes": (probe.causes, {"models": {1: BEFORE, 2: AFTER}, "test": [OLD, NEW]}),
    "diff": (probe.diff, {"before": BEFORE, "after": AFTER, "old": OLD}),
    "split": (probe.split, {"model": BEFORE, "feature": "0", "sample": X}),
    "cut_each": (probe.cut_each, {"model": BEFORE, "features": ["0"], "sample": X}),
    "cache_plan": (
        probe.cache_plan,
        {"model": BEFORE, "features": ["0"], "sample": X, "sizes": (9, 9)},
    ),
}
RESULT = probe.analyze(
    {1: BEFORE, 2: AFTER}, TRAIN, TEST, [[0, 1], [2, 3]], ["0"], readouts=["ncm"]
)
METHODS = {
    "matrix": (RESULT.matrix, {"feature": "0", "readout": "ncm"}),
    "ceiling": (RESULT.ceiling, {"feature": "0", "readout": "ncm"}),
    "to_pandas": (RESULT.to_pandas, {}),
    "latex": (RESULT.latex, {}),
    "report": (RESULT.report, {"file": "absent/x"}),
    "save": (RESULT.save, {"folder": "absent/x"}),
}
EACH = CALLS | METHODS


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_no_argument_ends_in_an_error_of_python_or_torch(
    name, bad, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    function, arguments = EACH[name]
    for parameter in inspect.signature(function).parameters:
        with suppress(InputError):
            function(**{**arguments, parameter: bad})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"features": "1"}, "features must be a list or a mapping, got '1'"),
        ({"batch_size": 2.5}, "batch_size must be a whole number, got 2.5"),
        ({"batch_size": 0}, "batch_size must be 1 or more, got 0"),
        ({"long": "no"}, "long must be true or false, got 'no'"),
    ],
)
def test_the_argument_and_its_value_are_named(given, named):
    with pytest.raises(InputError, match=named):
        probe.causes({1: BEFORE, 2: AFTER}, [OLD, NEW], **given)


def test_numbers_and_names_of_numpy_are_those_of_python():
    found = []

    @checked
    def part(names: list[str], size: PositiveInt | None = None) -> None:
        found.append((names, size))

    part(["a"], np.int64(3))
    assert found == [(["a"], 3)]
    assert type(found[0][1]) is int


def test_labels_in_a_column_are_flattened_as_the_sentence_says():
    x, y = OLD
    with pytest.raises(InputError, match=r"give y.flatten\(\).long\(\)"):
        probe.diff(BEFORE, AFTER, (x, y[:, None]))
    assert probe.diff(BEFORE, AFTER, (x, y[:, None].flatten().long())).answer


class Graph:
    """A graph of PyTorch Geometric, by the attributes that tell it."""

    def __init__(self, nodes, label):
        self.x = nodes
        self.y = label
        self.edge_index = torch.zeros(2, 0).long()


class OnGraphs(nn.Module):
    """A network of padded nodes and their adjacency."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.b = nn.Linear(4, 2)

    def forward(self, nodes, adjacency):
        return self.b((adjacency @ self.a(nodes)).relu().sum(1))


def test_graphs_are_padded_as_the_sentence_says():
    graphs = [Graph(torch.randn(2 + k % 2, 3), k % 2) for k in range(12)]
    networks = OnGraphs(), OnGraphs()
    for data in (graphs, [(graph, graph.y) for graph in graphs]):
        with pytest.raises(InputError, match="pad them to one size"):
            probe.diff(*networks, data)
    nodes = nn.utils.rnn.pad_sequence([graph.x for graph in graphs], batch_first=True)
    adjacency = torch.eye(3).expand(12, 3, 3)
    y = torch.tensor([graph.y for graph in graphs])
    assert probe.diff(*networks, ((nodes, adjacency), y)).answer
