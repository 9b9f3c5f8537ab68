"""Networks that also differ by a plain attribute, through `probe.analyze`."""

from copy import deepcopy
from types import MethodType

import torch
from torch import nn

import probe

TASKS = [[0, 1], [2, 3]]
CLASSES = 4


class Masked(nn.Module):
    """A network whose hidden units pass a mask of the task, a plain attribute."""

    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(8, 24)
        self.hidden2 = nn.Linear(24, 24)
        self.output = nn.Linear(24, CLASSES)
        self.mask = torch.ones(24)

    def forward(self, x):
        h = self.hidden1(x).relu() * self.mask
        return self.output(self.hidden2(h).relu())


def data(seed):
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(120) % CLASSES
    centers = torch.eye(8)[:CLASSES] * 4
    noise = torch.randn(120, 8, generator=draw)
    return centers[y] + noise, y


TRAIN = data(0)
TEST = data(1)


def trained():
    """Return networks after each task, of which each has learned with its own half of the units."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Masked()
    networks = {}
    for task, classes in enumerate(TASKS, 1):
        model.mask = (torch.arange(24) % 2 == task % 2).float()
        rows = torch.isin(TRAIN[1], torch.tensor(classes))
        x, y = (half[rows] for half in TRAIN)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(60):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        networks[task] = deepcopy(model)
    return networks


def analyzed(networks):
    readouts = probe.Measure(readouts=["linear"], inherited=True)
    return probe.analyze(
        networks,
        TRAIN,
        TEST,
        TASKS,
        ["hidden1", "hidden2"],
        readouts=readouts,
    )


def test_what_cannot_be_put_back_withholds_causes_and_own_change():
    networks = trained()
    forward = Masked.forward

    def rolled(self, x):
        return forward(self, x).roll(1, 1)

    networks[2].forward = MethodType(rolled, networks[2])
    result = analyzed(networks)
    notes = " ".join(result.notes)
    assert "causes withheld after task 1" in notes
    assert "differs: forward" in notes
    assert result.causes().empty
    assert probe.example_causes(result).empty
    assert not set(result.layers()["quantity"]) & {"own", "inherited"}
    # Healthy networks have both.
    both = set(analyzed(trained()).layers()["quantity"])
    assert both >= {"own", "inherited"}


def test_inherited_change_is_read_with_attributes_of_no_block_put_back_too():
    networks = trained()
    hybrid = deepcopy(networks[2])
    hybrid.hidden1.load_state_dict(networks[1].hidden1.state_dict())
    hybrid.mask = networks[1].mask
    rows = probe.predictions(analyzed(networks)).query("feature == 'hidden2'")
    inherited = rows.query("readout == 'upstream:linear@1'")["predicted"]
    apart = probe.predictions(analyzed({1: networks[1], 2: hybrid}))
    expected = apart.query("feature == 'hidden2' and tasks_seen == 2")
    expected = expected.query("readout == 'linear'")["predicted"]
    assert inherited.tolist() == expected.tolist()


def test_an_attribute_that_only_the_last_network_has_is_put_back_to_that_of_the_class():
    networks = trained()
    expected = probe.causes(networks, [TEST, TEST], features=["hidden1", "hidden2"])
    for network in networks.values():
        network.__class__ = type("Masked", (Masked,), {"mask": networks[1].mask})
    del networks[1].mask
    table = probe.causes(networks, [TEST, TEST], features=["hidden1", "hidden2"])
    assert table.equals(expected)
