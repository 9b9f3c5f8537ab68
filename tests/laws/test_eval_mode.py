"""What is tested is in eval mode: no test example's prediction depends on the others."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import probe
from tests.laws.reference import partial_retrained, predictions
from tests.laws.tables import METRIC
from tests.scenarios.learners.tiny_learners import seeded

TASKS = [[0, 3], [1, 2]]
RECIPE = probe.Recipe(
    epochs=2,
    batch_size=9,
    optimizer="sgd",
    learning_rate=0.1,
    init="murata",
)


def network():
    """Return a network with batch norm and dropout before and behind its second layer."""
    layers = [
        nn.Linear(6, 12),
        nn.BatchNorm1d(12),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(12, 10),
        nn.BatchNorm1d(10),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(10, 4),
    ]
    return nn.Sequential(*layers)


def points(n, seed):
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 4
    return torch.eye(4, 6)[y] * 2 + torch.randn(n, 6, generator=draw), y


def trained():
    """Return a network as a training loop leaves it: in training mode, its statistics moved."""
    model = seeded(network)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for seed in range(20):
            model(points(30, seed)[0] + 1)
    return model.train()


TRAIN = points(45, 1)
TEST = points(301, 2)


def rows(model, test):
    """Analyze a network; return each readout's accuracy on each task."""
    readouts = probe.Measure(
        readouts=["retrain", "linear", "linear-task", "ncm", "knn"]
    )
    result = probe.analyze(
        {0: seeded(network, 1), 2: model},
        TRAIN,
        test,
        tasks=TASKS,
        features=["0", "2", "4"],
        recipe=RECIPE,
        readouts=readouts,
    )
    found = result.to_pandas("measurements").query(f"{METRIC} == 'accuracy'")
    values = found.pop("value")
    keys = found.astype(str).itertuples(index=False, name=None)
    return dict(zip(keys, values, strict=True))


def test_the_readouts_of_an_analysis_test_each_example_by_itself():
    """Twice the same test data in another order, the network in training mode when given."""
    model = trained()
    order = torch.randperm(len(TEST[1]), generator=torch.Generator().manual_seed(3))
    before = copy.deepcopy(model.state_dict())
    once = rows(model, TEST)
    x, y = (torch.cat([half[order], half]) for half in TEST)
    assert rows(model, (x, y)) == pytest.approx(once, abs=1e-12)
    assert all(map(torch.equal, before.values(), model.state_dict().values()))
    assert model.training


@pytest.mark.parametrize("feature", [0, 2, 4, 6])
def test_a_tail_with_dropout_is_retrained_and_tested_as_a_plain_loop_does(feature):
    """Its dropout draws in training only, its batch norm uses the statistics of training."""
    model = trained()
    prefix = [str(layer) for layer in range(feature + 1)]
    names = [str(feature)]
    found = probe.partial_retrain(model, names, TRAIN, TEST, TASKS, RECIPE)
    plain = partial_retrained(model, prefix, *TRAIN, RECIPE, seed=0)
    table = np.zeros((4, 4), dtype=int)
    np.add.at(table, (TEST[1].numpy(), predictions(plain, TEST[0])), 1)
    assert np.abs(found.counts[str(feature)].table - table).sum() <= 2
