"""Causes for networks in memory: networks stay as they are, and what cannot be is refused."""

from copy import deepcopy

import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import probe
from probe.errors import InputError
from probe.rewinding.scoring import score_of
from probe.seeding import stream
from tests.probe.one_pair import NEW, OLD, UNTRAINED
from tests.probe.record.tiny import same_state
from tests.probe.rewinding.test_hybrids import network

DRAW = torch.Generator().manual_seed(3)
TEST = [(torch.randn(20, 6, generator=DRAW), torch.arange(20) % 4) for _ in range(3)]
NAMES = ["norm", "second"]


def networks():
    """Return networks of one training, whose units keep their places."""
    nets = {j: network("norm", 0) for j in (1, 2, 3)}
    for net in nets.values():
        for parameter in net.parameters():
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=DRAW)
    return nets


def in_train_mode(model, x, y):
    return -cross_entropy(
        model.train()(x),
        y,
        reduction="none",
    )


def test_a_score_that_writes_buffers_changes_no_network_and_no_other_hybrid():
    nets = networks()
    before = {j: deepcopy(net.state_dict()) for j, net in nets.items()}
    first, again = (probe.causes(nets, TEST, in_train_mode, NAMES) for _ in range(2))
    assert first.equals(again)
    assert not first.attrs["withheld"]
    for j, net in nets.items():
        assert not net.training
        assert same_state(net.state_dict(), before[j])


def test_the_loss_of_outputs_in_half_precision_is_not_rounded():
    logits = torch.linspace(-3, 3, 36).view(9, 4).bfloat16()
    y = torch.arange(9) % 4
    losses = cross_entropy(
        logits.float(),
        y,
        reduction="none",
    )
    assert score_of("loss", logits, y).equal(-losses)


class Answers(nn.Module):
    """The output of each example by its number."""

    def __init__(self, right, y):
        super().__init__()
        self.logits = nn.Parameter(torch.eye(3)[torch.where(right, y, (y + 1) % 3)])

    def forward(self, x):
        return self.logits[x[:, 0].long()]


def test_a_mean_over_tasks_does_not_trust_examples_of_a_task_that_agree():
    """Of two tasks one was known, then neither: half was lost, give or take a tenth."""
    y = torch.arange(3).repeat_interleave(40)
    x = torch.arange(120.0)[:, None]
    nets = {}
    for j, known in enumerate((0, 2, 2), 1):
        nets[j] = nn.Sequential(Answers(y == known, y))
    test = list(zip(x.split(40), y.split(40), strict=True))
    rows = probe.causes(
        nets,
        test,
        features={"a": "0.*"},
        long=True,
    )
    lost = rows[rows["quantity"] == "lost"]
    over_all = lost[lost["task_position"].isna()]
    assert over_all["value"].tolist() == [0.5]
    widths = over_all["high"] - over_all["low"]
    assert widths.min() > 0.15


class Recurrent(nn.Module):
    """An LSTM of two layers, and two dense ones."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(
            3,
            16,
            num_layers=2,
            batch_first=True,
        )
        self.dense = nn.Linear(16, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        outputs, _ = self.lstm(x.unflatten(1, (2, 3)))
        return self.head(self.dense(outputs[:, -1]).tanh())


def test_units_of_recurrent_layers_are_compared_too():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        first, other = Recurrent(), Recurrent()
    continued = deepcopy(first)
    for parameter in continued.parameters():
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=DRAW)
    test = TEST[:2]
    assert not probe.causes({1: first, 2: continued}, test).attrs["withheld"]
    with pytest.warns(UserWarning, match=r"units of lstm .* do not correspond"):
        probe.causes({1: first, 2: other}, test)


class Beside(nn.Linear):
    """A layer that returns something first that nobody reads."""

    def forward(self, x):
        return x[:, :3].sin() * self.weight.sum(), super().forward(x).tanh()


class Chain(nn.Module):
    """Two such layers, and an output."""

    def __init__(self):
        super().__init__()
        self.a = Beside(6, 6)
        self.b = Beside(6, 6)
        self.head = nn.Linear(6, 4)

    def forward(self, x):
        return self.head(self.b(self.a(x)[1])[1])


def test_what_nobody_reads_is_not_compared():
    """The sign of the first tensor is that of the sum of weights."""
    first = Chain()
    last = deepcopy(first)
    for block in (last.a, last.b):
        block.weight.data -= 2.02 * block.weight.mean()
    last.head.bias.data += 1
    table = probe.causes({1: first, 2: last}, TEST[:2], "loss", ["a", "b"])
    assert not table.attrs["withheld"]


def test_a_task_of_which_nothing_is_said_is_in_no_mean():
    nets = networks() | {1: network("norm", 5)}
    nets[3].second.load_state_dict(nets[2].second.state_dict())
    draw = torch.Generator().manual_seed(4)
    test = []
    for _ in range(3):
        x = torch.randn(200, 6, generator=draw)
        test.append((x, torch.arange(200) % 4))
    with pytest.warns(UserWarning, match="withheld after task 1"):
        rows = probe.causes(
            nets,
            test,
            "loss",
            NAMES,
            long=True,
        )
    shares = rows[rows["quantity"] == "attributed"]
    columns = [
        "feature",
        "value",
        "low",
        "high",
        "verdict",
    ]
    is_of_two = shares["task_position"].eq(2)
    of_two = shares[is_of_two][columns].reset_index(drop=True)
    means = shares[~is_of_two][columns].reset_index(drop=True)
    assert len(means) == 3
    pd.testing.assert_frame_equal(of_two, means, rtol=1e-9)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"score": "Loss"}, "score must be a function or 'accuracy', 'loss'"),
        (
            {"score": lambda model, x, y: model(x)},
            r"for each of 8 examples, .* \(8, 4\)",
        ),
        ({"score": lambda model, x, y: 1.0}, "got float"),
        ({"hybrids": 0}, "hybrids must be"),
        ({"models": {3: network("norm", 0)}}, "models must map"),
        ({"models": networks() | {1: nn.Linear(6, 4)}}, "after 1 tasks has 'bias'"),
    ],
)
def test_what_cannot_be_rewound_is_refused(changes, what):
    with pytest.raises(InputError, match=what):
        probe.causes(
            **{
                "models": networks(),
                "test": TEST,
                "features": NAMES,
            }
            | changes
        )


def test_no_answer_of_a_hybrid_that_overflows_is_right():
    """Each network is sound; the later first layer under the earlier head is not."""
    torch.manual_seed(0)
    before = nn.Sequential(nn.Linear(6, 8, bias=False), nn.Linear(8, 4))
    after = deepcopy(before)
    before[1].weight.data *= 1e4
    after[0].weight.data *= 1e36
    after[1].weight.data /= 1e36
    nets = {1: before, 2: after}
    tasks = [(TEST[0][0], torch.zeros(20).long())] * 2
    with torch.no_grad():
        right = before(tasks[0][0]).argmax(1).eq(0).double().mean()
    assert probe.causes(nets, tasks, features=["0"]).broken[0] == right
    with pytest.raises(InputError, match="overflows"):
        probe.causes(nets, tasks, "loss", ["0"])


def test_a_block_that_changed_since_some_task_has_a_verdict():
    good = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    for layer in good:
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    bad, worse = deepcopy(good), deepcopy(good)
    for changed in (bad, worse):
        nn.init.constant_(changed[0].bias[:1], 5.0)
    nn.init.constant_(worse[1].bias, 0.1)
    y = torch.arange(80) % 4
    x = torch.eye(4)[y] + torch.randn(80, 4, generator=stream(0, "x")) / 9
    tests = [(x, y)] * 3
    table = probe.causes({1: good, 2: bad, 3: worse}, tests, features=["0"])
    assert table.set_index("feature")["verdict"]["0"] == "costs"


@pytest.mark.parametrize("shift", range(6))
def test_units_in_another_order_are_no_change_that_can_be_put_back(shift):
    """An order is not its own inverse."""
    last = deepcopy(UNTRAINED)
    for parameter, axis in (
        (last[0].weight, 0),
        (last[0].bias, 0),
        (last[2].weight, 1),
    ):
        parameter.data = 1.01 * parameter.data.roll(shift, axis)
    table = probe.causes({1: UNTRAINED, 2: last}, [OLD, NEW], features=["0"], long=True)
    assert bool(table.attrs["withheld"]) == bool(shift)
