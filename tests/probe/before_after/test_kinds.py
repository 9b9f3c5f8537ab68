"""The kind of change, planted one by one in a network that knows the digits."""

from copy import deepcopy
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from torch import nn

import probe
from probe.answers.record import Interval
from probe.before_after.meaning import NEW_DOMAIN, Findings
from probe.before_after.setting import Blame
from tests.probe.before_after.conftest import NEW, OLD, TRAIN, trained, turned


def of_classes(pair, classes):
    x, y = pair
    rows = torch.isin(y, torch.tensor(classes))
    return x[rows], y[rows]


def fault(network):
    network[1][0].weight.data *= -1


def statistics(network):
    network[1][1].running_mean += 3


def renamed(network):
    for name in ("weight", "bias"):
        tensor = getattr(network[6], name).data
        tensor[:] = tensor.roll(1, 0)


KINDS = {
    "fault": ("fault", fault),
    "norm statistics": ("norm statistics", statistics),
    "renamed outputs": ("renamed outputs", renamed),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epochs", [0, 1])
def test_a_planted_change_is_told_by_its_kind_and_block(before, kind, epochs):
    """Also where every other weight has changed a little."""
    expected, plant = KINDS[kind]
    network = trained(before, TRAIN, epochs)
    plant(network)
    answer = probe.diff(before, network, OLD, of_classes(OLD, [0, 1, 2])).answer
    assert answer.kind == expected
    assert answer.blocks[0].block == (
        "output (6)" if kind == "renamed outputs" else "1"
    )


def test_a_new_domain_and_new_classes(before, after):
    assert probe.diff(before, after, OLD, NEW).answer.kind == "new domain"
    first = trained(
        before,
        of_classes(TRAIN, [0, 1, 2, 3, 4]),
        8,
    )
    last = trained(
        first,
        of_classes(TRAIN, [5, 6, 7, 8, 9]),
        8,
    )
    old = of_classes(OLD, [0, 1, 2, 3, 4])
    new = of_classes(OLD, [5, 6, 7, 8, 9])
    assert probe.diff(first, last, old, new).answer.kind == "new classes"


@pytest.mark.parametrize("end", [-0.05, 0.05])
def test_a_verdict_rests_on_the_careful_end_of_an_interval(end):
    """Of what a remedy does to new examples, the other end being the same."""
    back = Interval(value=0.1, low=0.1, high=0.1)
    new = Interval(value=0.1, low=end, high=0.1)
    remedy = SimpleNamespace(old_change=back, new_change=new)
    findings = SimpleNamespace(remedies={"a": remedy}, lost=back)
    assert Findings.returns_most(findings, "a") == (end > 0)
    row = {"feature": "a", "share": 1, "restored_low": 0.1, "new_high": end}
    blame = Blame(parts=None, two=None, causes=pd.DataFrame([row]))
    assert blame.traded == ("a" if end < 0 else "")


@pytest.mark.parametrize(
    ("end", "low", "words"),
    [
        (-0.1, 1.5, "Putting a back "),
        (0.1, 1.5, "More is due to a, "),
        (0.1, 1.2, "Putting b back "),
    ],
)
def test_a_trade_names_the_block_that_is_shown_to_account_for_more(end, low, words):
    row = {"restored_low": 0.1, "new_high": -0.1, "share_low": 0.8, "share_high": 1.2}
    lesser = row | {"feature": "b", "share": 1}
    main = {"feature": "a", "share": 2, "share_low": low, "share_high": 2.5}
    causes = pd.DataFrame([lesser, row | main | {"new_high": end}])
    blame = Blame(parts=None, two=None, causes=causes)
    trade, price = Findings.sentences(SimpleNamespace(kind=NEW_DOMAIN, blame=blame))
    assert trade.endswith(f" {blame.traded} learned the new at the expense of the old.")
    assert price.startswith(words)


class Gain(torch.nn.Sequential):
    gain = 1.0

    def forward(self, x):
        return super().forward(self.gain * x)


def test_an_attribute_is_named(before):
    first = Gain(*deepcopy(before))
    first.gain = 1.0
    last = deepcopy(first)
    last.gain = -1.0
    answer = probe.diff(first, last, OLD, NEW).answer
    assert answer.kind == "attribute"
    assert "gain" in answer.meaning[0]
    assert "gain" in answer.changed


def test_nothing_changed_and_nothing_lost_are_said(before):
    same = probe.diff(before, deepcopy(before), OLD, NEW)
    assert (same.answer.kind, same.answer.blocks) == ("unchanged", ())
    assert "nothing" in same.answer.changed
    assert "gained" not in str(same.answer)
    better = probe.diff(
        trained(before, turned(TRAIN), 1),
        before,
        OLD,
        NEW,
    )
    assert better.answer.kind == "no loss"
    (sentence,) = better.answer.meaning
    assert sentence == "No loss on old examples is shown."
    idle = [deepcopy(before), deepcopy(before)]
    for value, network in enumerate(idle):
        network.register_buffer("idle", torch.tensor(value))
    unread = probe.diff(*idle, OLD, score="loss").answer
    assert unread.lost.low == 0
    assert unread.meaning == better.answer.meaning
    lost = probe.diff(before, trained(before, turned(TRAIN), 1), OLD, margin=0.99)
    assert lost.answer.lost.low > 0
    assert lost.answer.meaning == (
        "The loss on old examples is shown to be below the margin.",
    )
    answer = lost.answer
    inside = (answer.lost.low + answer.lost.high) / 2
    assert inside < 0.99
    unknown = probe.diff(before, trained(before, turned(TRAIN), 1), OLD, margin=inside)
    assert unknown.answer.kind != "no loss"


def test_only_statistics_are_said_to_have_changed(before):
    network = deepcopy(before)
    statistics(network)
    result = probe.diff(before, network, OLD)
    assert "no weight has changed" in result.answer.changed
    assert result.changes.set_index("block")["kinds"].to_dict() == {
        "0": "",
        "1": "norm statistics",
        "5": "",
        "output": "",
    }
    assert result.answer.next[0].old == pytest.approx(
        probe.diff(before, network, OLD)
        .remedies.query("kind == 'before'")["old"]
        .item()
    )


def test_what_cannot_be_put_back_is_named_and_nothing_is_blamed(before):
    network = deepcopy(before)
    network[5] = torch.nn.Sigmoid()
    network[1][1].running_mean += 0.01
    result = probe.diff(before, network, OLD, NEW)
    answer = result.answer
    assert answer.kind == "something else"
    assert "class of 5" in answer.meaning[0]
    assert "class of 5" in answer.changed
    assert answer.blocks == ()
    assert result.examples.empty


def test_without_new_examples_statistics_are_not_blamed_for_a_trade(before, after):
    assert probe.diff(before, after, OLD).answer.kind == "unclear"


def test_few_new_examples_make_no_fault_of_a_trade(before, after):
    x, y = NEW
    answer = probe.diff(before, after, OLD, (x[:12], y[:12])).answer
    assert answer.kind != "fault"


def test_few_old_classes_are_not_called_renamed(before):
    """Two of ten outputs, to which the head has grown."""
    first = deepcopy(before)
    first[6] = nn.Linear(16, 2)
    first = trained(first, of_classes(TRAIN, [0, 1]), 2)
    last = deepcopy(first)
    last[6] = nn.Linear(16, 10)
    last[6].load_state_dict(before[6].state_dict())
    with torch.no_grad():
        last[6].weight[:2] = first[6].weight
        last[6].bias[:2] = first[6].bias
    last = trained(last, of_classes(TRAIN, [6, 8]), 6)
    assert probe.diff(first, last, of_classes(OLD, [0, 1])).answer.kind == "unclear"
