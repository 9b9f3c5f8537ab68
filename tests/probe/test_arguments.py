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
from probe.metrics.registry import registered
from probe.metrics.task_predictions import TaskPredictions
from probe.tasks import orders
from probe.validation import PositiveInt
from tests.probe.one_pair import AFTER, BEFORE, NEW, OLD, TEST, TRAIN

BAD = [
    None,
    "1",
    "",
    2.5,
    float("nan"),
    True,
    -1,
    10**30,
    [1],
    [10**30],
    {"a": 1},
    object(),
    np.array([1, 2]),
    np.array(1),
    torch.ones(1),
    lambda *args: 1,
    Path("absent/x"),
    "a\0b",
    "\ud800",
]
X, Y = OLD
TASKS = [[0, 1], [2, 3]]
FUNCTIONS = (
    "causes diff split cut_each cache_plan predictions load "
    "network data metric learner readout"
)
RESULT = probe.analyze(
    {1: BEFORE, 2: AFTER}, TRAIN, TEST, TASKS, ["0"], readouts=["ncm"]
)
DIFF = probe.diff(BEFORE, AFTER, OLD)
RUN = TaskPredictions.of(Y, Y, Y, [[0], [1]])
OBJECTS = [
    RESULT,
    RESULT.R,
    RESULT.plot,
    DIFF,
    RUN,
    RUN.counts,
    probe.split(BEFORE, "0", X),
    probe.Examples(X, Y, Y),
]
# In the loops of learners, and what only a reader of folders calls.
UNCHECKED = {"take", "part", "of_saved"}
# What a parameter of this name may be; others keep their defaults, or are bad.
SOUND = {
    "models": {1: BEFORE, 2: AFTER},
    "model": BEFORE,
    "before": BEFORE,
    "after": AFTER,
    "old": OLD,
    "test": [OLD, NEW],
    "sample": X,
    "sizes": (9, 9),
    "features": ["0"],
    "feature": "0",
    "readout": "ncm",
    "tasks": TASKS,
    "R": RESULT.R,
    "counts": RUN.counts,
    "fresh": "torch",
}
EACH = {name: getattr(probe, name) for name in FUNCTIONS.split()}
for metric in registered():
    EACH[metric.public] = metric.function
for thing in OBJECTS:
    for name, _ in inspect.getmembers(type(thing), callable):
        if not name.startswith("_") and name not in UNCHECKED:
            EACH[f"{type(thing).__name__}.{name}"] = getattr(thing, name)


# NumPy warns of tensors, which are among the arguments.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("function", EACH.values(), ids=EACH)
def test_no_argument_ends_in_an_error_of_python_or_torch(
    function, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    parameters = inspect.signature(function).parameters.values()
    named = [
        p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    needed = {p.name for p in parameters if p.default is p.empty}
    sound = {name: SOUND.get(name, 1) for name in named if name in needed}
    for name in named:
        for bad in BAD:
            with suppress(InputError):
                function(**{**sound, name: bad})


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


PAIR = {1: BEFORE, 2: AFTER}
DIVERGED = nn.Linear(8, 4)
nn.init.constant_(DIVERGED.weight, 1e38)
MASKED = np.ma.masked_array(X.numpy(), X.numpy() > 0)
LONG = X.numpy().astype(np.longdouble)
QUANTIZED = torch.quantize_per_tensor(X, 0.1, 0, torch.qint8)
NESTED = torch.nested.nested_tensor([X[0], X[1]])
FILES = probe.Model("absent{task}.pt", fresh=lambda: BEFORE)
# A call that gave a number or an error of Python's, and what is named.
OTHER_KINDS = [
    (lambda: probe.causes({1: BEFORE, 2: X}, [OLD, NEW]), "Module, got Tensor"),
    (lambda: probe.causes(PAIR, [(X, Y + 0j), NEW]), "y of test of task 1 is complex"),
    (lambda: probe.causes(PAIR, [OLD, NEW], lambda m, x, y: y + 1j), "real number"),
    (lambda: probe.diff(BEFORE, AFTER, (MASKED, Y)), "masked array"),
    (
        lambda: probe.diff(BEFORE, AFTER, OLD, remedies={"a": lambda b, a: DIVERGED}),
        "remedy 'a': .* is NaN or infinite",
    ),
    (lambda: probe.cache_plan(BEFORE, ["0"], X, (-1, 5)), "1 or more, got -1"),
    (lambda: probe.causes({1: BEFORE, (2,): AFTER}, [OLD, NEW]), r"got \[1, \(2,\)\]"),
    (lambda: probe.diff(BEFORE, AFTER, (LONG, Y)), "ndarray, expected tensors"),
    (lambda: probe.diff(BEFORE, AFTER, (X, QUANTIZED)), "quantized tensor"),
    (lambda: probe.Examples(QUANTIZED, Y), "or quantized one"),
    (lambda: probe.Examples(X, NESTED), "got float32 nested"),
    (lambda: probe.Examples(X, Y, NESTED), "task must be plain tensors"),
    (lambda: probe.Examples(X, Y, Y.to_sparse()), "task must be plain tensors"),
    (lambda: probe.Counts.of([0, [1]], [0, 1], 2), "differ in length"),
    (lambda: probe.metrics.ce([1], [2], "1"), "epsilon must be a number, got '1'"),
    (lambda: probe.metrics.sss([1], "5"), "lifetime_bytes must be a number, got '5'"),
    (lambda: probe.metrics.cl_score({"A": "0"}), "criteria must be a number, got '0'"),
    (lambda: probe.metrics.cl_stability({"A": [0]}), "must be a number, got list"),
    (lambda: probe.network("mine", features="conv1"), "a list, got 'conv1'"),
    (lambda: orders({"0": [[2], 1]}, 2), "name each of 1 to 2 once"),
    (lambda: probe.Watch(old=OLD, tolerate=0, stop="no"), "True or False, got 'no'"),
    (
        lambda: probe.analyze(FILES, TRAIN, TEST, TASKS, offline=np.datetime64("2020")),
        "both files and models",
    ),
]


@pytest.mark.parametrize(("call", "named"), OTHER_KINDS)
def test_values_of_another_kind_are_refused(call, named):
    with pytest.raises(InputError, match=named):
        call()


def test_numbers_and_names_of_numpy_are_those_of_python():
    found = []

    @checked
    def part(names: list[str], size: PositiveInt | None = None) -> None:
        found.append((names, size))

    part(["a"], np.int64(3))
    assert found == [(["a"], 3)]
    assert type(found[0][1]) is int
    assert probe.Recipe(epochs=np.int64(3)) == probe.Recipe(epochs=3)


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
