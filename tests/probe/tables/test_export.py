"""Results written for TensorBoard and wandb are read back as they are in the tables."""

import pytest
import torch
from torch import nn

import probe
from probe.tables.export import scalars

DATA = torch.randn(24, 4, generator=torch.Generator().manual_seed(0)), torch.arange(24) % 2
TASKS = [[0], [1]]


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


@pytest.fixture(scope="module")
def found():
    return probe.analyze({1: net(), 2: net()}, DATA, DATA, TASKS, ["1"], net(), readouts=["linear"])


def test_the_scalars_are_those_of_the_tables(found):
    """Two tasks of as many examples: the accuracy of all is the mean of a row of A."""
    written = {(tag, step): value for tag, step, value in scalars(found.tables())}
    for feature, layer in (("1", "1/linear"), ("output", "output")):
        floor, *rows = found.matrix(feature, "linear").values
        assert written[f"accuracy/untrained/{layer}", 0] == pytest.approx(floor.mean())
        for step, row in enumerate(rows, 1):
            assert written[f"accuracy/model/{layer}", step] == pytest.approx(row.mean())
    key = ("forgotten", None, "1")
    (forgotten,) = (r.value for r in found.layers() if (r.quantity, r.place, r.feature) == key)
    assert written["layers/forgotten/model/1/linear", 2] == forgotten
