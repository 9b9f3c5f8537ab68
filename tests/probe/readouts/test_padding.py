"""Which positions count is told by an input that is found, not by its name."""

import pytest
import torch
from torch import nn

from probe.batch import tensors, varied
from probe.cut.cuts import cut_each
from probe.readouts.matrix import feature_matrices
from tests.laws.zoo.written import Written

EXAMPLES = 40
LENGTH = 9
LENGTHS = torch.arange(EXAMPLES) % 6 + 3
KEEP = torch.arange(LENGTH) < LENGTHS[:, None]
LAYERS = {
    "a": (5, 12),
    "act": nn.ReLU,
    "conv": lambda: nn.Conv1d(12, 12, 1),
    "mark": nn.Identity,
    "head": (12, 4),
}

# The inputs of a padded graph beside its nodes, and how the model reads them.
TOLD = {
    "keep": (KEEP, lambda keep: keep),
    "drop": (~KEEP, lambda drop: ~drop),
    "number": (KEEP.float(), lambda keep: keep > 0),
    "bias": (torch.zeros(KEEP.shape).masked_fill(~KEEP, -1e9), lambda bias: bias == 0),
    "lengths": (LENGTHS, lambda n: torch.arange(LENGTH) < n[:, None]),
    "nodes": (None, lambda nodes: nodes.any(2)),
}


def graph(m, nodes, keep):
    """Nodes hear of each other, and the head averages over those that are there."""
    edges = (keep[:, :, None] & keep[:, None]).float()
    hidden = edges @ m.act(m.a(nodes))
    hidden = m.mark(m.conv(hidden.mT)).mT
    return m.head((hidden * keep[..., None]).sum(1) / keep.sum(1, keepdim=True))


class Graph(Written):
    def forward(self, *x):
        return self.run(self, *x)


def read(model, x, features):
    cuts = cut_each(model, features, varied(x, 8), tails=False)
    return feature_matrices(cuts, x)


@pytest.mark.parametrize("name", TOLD)
def test_padding_is_no_part_of_a_mean_whatever_tells_of_it(name):
    torch.manual_seed(0)
    told, keep_of = TOLD[name]
    nodes = torch.randn(EXAMPLES, LENGTH, 5)
    x = (nodes, told)
    if told is None:
        x = nodes * KEEP[..., None]
    model = Graph(lambda m, x, *told: graph(m, x, keep_of(*told or [x])), LAYERS)
    values = read(model, x, ["a", "act", "mark"])
    with torch.no_grad():
        expected = {"a": model.a(tensors(x)[0])}
        expected["act"] = expected["a"].relu()
        edges = (KEEP[:, :, None] & KEEP[:, None]).float()
        expected["mark"] = model.conv((edges @ expected["act"]).mT).mT
    for feature, value in expected.items():
        means = [row[:n].mean(0) for row, n in zip(value, LENGTHS, strict=True)]
        torch.testing.assert_close(values[feature][0], torch.stack(means))


def of_content(m, nodes):
    return graph(m, nodes, nodes[..., 0] > 0)


def of_all(m, nodes):
    """The units of one channel are dead in most examples, and no padding."""
    return m.head(m.act(m.a(nodes) - 1).mean(1))


def of_first(m, nodes):
    return m.head(m.act(m.a(nodes))[:, 0])


@pytest.mark.parametrize(
    ("forward", "is_noted"),
    [
        (of_content, True),
        (of_all, False),
        (of_first, False),
    ],
)
def test_it_is_said_where_no_input_tells_and_only_there(forward, is_noted):
    torch.manual_seed(0)
    nodes = torch.randn(EXAMPLES, LENGTH, 5)
    [(_, how)] = read(Graph(forward, LAYERS), nodes, ["act"]).values()
    assert ("no input tells which positions count" in how) == is_noted


def test_a_mask_beside_the_inputs_is_the_remedy():
    torch.manual_seed(0)
    nodes = torch.randn(EXAMPLES, LENGTH, 5)
    x = {"nodes": nodes, "mask": nodes[..., 0] > 0}
    cuts = cut_each(
        Graph(of_content, LAYERS),
        ["a"],
        varied(x, 8),
        call=lambda model, x: model(x["nodes"]),
        tails=False,
    )
    [(_, how)] = feature_matrices(cuts, x).values()
    assert "a mask keeps" in how


def test_a_mask_that_is_1_at_padding_is_told_by_the_network_not_by_its_name():
    torch.manual_seed(0)
    x = {"nodes": torch.randn(EXAMPLES, LENGTH, 5), "mask": ~KEEP}
    model = Graph(graph, LAYERS)
    cuts = cut_each(
        model,
        ["a"],
        varied(x, 8),
        call=lambda model, x: model(x["nodes"], ~x["mask"]),
        tails=False,
    )
    [(values, _)] = feature_matrices(cuts, x).values()
    kept = model.a(x["nodes"]) * KEEP[..., None]
    torch.testing.assert_close(values, kept.sum(1) / LENGTHS[:, None])


def test_a_few_examples_of_padded_rows_differ_in_length():
    nodes = torch.ones(EXAMPLES, LENGTH, 5) * KEEP[..., None]
    nodes[:20] = 1
    assert len(varied(nodes, 8).any(2).sum(1).unique()) > 2
