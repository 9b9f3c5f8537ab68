"""Comparisons that decide a refusal, a verdict or a word: what is one step on either side."""

import math
from pathlib import Path
from types import SimpleNamespace as Fake

import numpy as np
import pytest
import torch

import probe
from probe.analysis.intervals import Estimate
from probe.analysis.similarity import Compared
from probe.analysis.statements import beyond_margin
from probe.answers.record import Answer, Interval, LayerLine
from probe.before_after.answering import Evidence
from probe.before_after.meaning import Findings
from probe.before_after.setting import Blame
from probe.by_layer.measurement import _check_ranges
from probe.errors import InputError
from probe.memory import show_size
from probe.metrics import diaz_rodriguez
from probe.metrics.matrix_file import _check_shape
from probe.record.readers.frameworks import _class_order
from probe.record.recorder import _check_sizes
from probe.results.statements import _is_still_moving
from probe.rewinding.blocks import with_new_rows
from probe.rewinding.correspondence import Relation
from probe.rewinding.pairs import deficit_doubt
from probe.rewinding.verdicts import Shown, verdict
from probe.tables.compared import _interval
from probe.tables.layer_text import is_part, retained
from probe.tables.note_text import listed
from probe.tasks import orders
from probe.training.evaluation import outputs_of
from probe.training.history import never_left
from scenarios.options import ModelOptions, RunOptions
from scenarios.study.spec import _check_name
from tests.mutants.contexts import ROOT
from tests.mutants.guards import guards, listed_guards


def estimate(low, high):
    return Estimate(value=(low + high) / 2, low=low, high=high, seeds=3)


def share(low, high, above=0.0):
    """Return what is said of the share that a layer retains."""
    return retained(
        {"retained": estimate(low, high), "above_floor": estimate(-1, above)}
    )


def back(low, value=1.0, new_low=0.0):
    """Return whether a remedy returns most of 2 points."""
    old = Interval(value=value, low=low, high=2)
    remedy = Fake(old_change=old, new_change=Interval(value=0, low=new_low, high=1))
    findings = Fake(remedies={"put back": remedy}, lost=Fake(value=2))
    return Findings.returns_most(findings, "put back")


def doubts(competition, hybrids, examples):
    """Return how many doubts there are beside those of any answer without new examples."""
    values = {("", "competition"): np.array([competition])}
    two = Fake(quantities=Fake(withheld="", values=values), changed=["a"])
    setting = Fake(
        labels=[range(examples), range(999)],
        has_new=False,
        hybrids=hybrids,
        models=Fake(notes=()),
    )
    blame = Fake(two=two, parts=Fake(facts=True))
    return len([*Evidence._belief(Fake(setting=setting, blame=blame))]) - 2


def opened(low, share):
    causes = Fake(attrs={"lost": (1, low, 2)})
    causes = type("Causes", (dict,), {"attrs": causes.attrs})(share=np.array([share]))
    blame = Fake(guilty="a", parts=Fake(blocks=["a"]), causes=causes)
    return Blame.opened.fget(blame)


def main_layers(cost):
    """Return the main layers of three, one of them of this cost."""
    layers = [
        Fake(layer=name, cost=Fake(value=value), verdict="costs")
        for name, value in (("a", cost), ("b", 0.3), ("c", 0))
    ]
    answer = Fake(forgotten=Fake(low=0.1), layers=layers)
    return [line.layer for line in Answer.main_layers.fget(answer)]


def drift(low, high):
    quantities = {("forgotten_drift", None): estimate(low, high)}
    return _is_still_moving(Fake(quantities=quantities), "forgets", None)


def helped(low):
    """Return the verdict where both ends help and the share does so only perhaps."""
    below = Shown(low=-3, high=-2, margin=2)
    return verdict(below, below, Shown(low=low, high=1, margin=2))


PAIR = (torch.rand(4, 2), torch.zeros(4).long())
ANSWERS = [
    (
        lambda low: beyond_margin(estimate(low, 1)),
        {0.01: "open", 0.011: "yes"},
    ),
    (
        lambda high: beyond_margin(estimate(-1, high)),
        {0.01: "open", 0.009: "no"},
    ),
    (
        lambda low: drift(low, 1),
        {0.01: False, 0.011: True},
    ),
    (
        lambda high: drift(-1, high),
        {-0.01: False, -0.011: True},
    ),
    (
        lambda room: LayerLine.has_little_room.fget(Fake(room=room)),
        {0.02: False, 0.019: True},
    ),
    (main_layers, {0.4: ["a", "b"], 0.1: ["b", "a"], 0: ["b"]}),
    (
        lambda high: share(0, high),
        {0.3: "at most 30", 0.29: "14 [0, 29]"},
    ),
    (
        lambda high: share(0, high),
        {1: "cannot tell", 0.99: "at most 99"},
    ),
    (
        lambda high: share(0, 1, high),
        {0: "cannot tell", -0.1: "below untrained"},
    ),
    (
        lambda never: is_part(never, 1),
        {-0.0005: False, -0.0004: True},
    ),
    (
        lambda never: is_part(never, 0),
        {0.0005: True, 0.0006: False},
    ),
    (
        lambda last: never_left([1, 1, last]),
        {0.95: False, 0.96: True},
    ),
    (
        lambda last: never_left([0.01, 0.01, last]),
        {0.01: False, 0.011: True},
    ),
    (
        lambda itself: Relation(itself=itself, best=1).is_unrelated,
        {0.3: False, 0.29: True},
    ),
    (
        lambda end: deficit_doubt(Fake(worse_end=end, deficit=1), 0) > "",
        {0.1: True, 0.09: False},
    ),
    (
        lambda d: deficit_doubt(Fake(worse_end=1, deficit=d), 0) > "",
        {0.3: False, 0.31: True},
    ),
    (
        lambda low: back(low, 1.1),
        {0.0: False, 0.1: True},
    ),
    (
        lambda value: back(0.1, value),
        {1.0: False, 1.1: True},
    ),
    (
        lambda new: back(0.1, 2, new),
        {-0.5: False, -0.4: True},
    ),
    (
        lambda low: opened(low, 1),
        {0: "", 0.1: "a"},
    ),
    (
        lambda share: opened(0.1, share),
        {0.5: "", 0.51: "a"},
    ),
    (
        lambda points: doubts(points, 2, 200),
        {0.5: 0, 0.6: 1, -0.5: 0},
    ),
    (
        lambda hybrids: doubts(0, hybrids, 200),
        {2: 0, 1: 1},
    ),
    (
        lambda examples: doubts(0, 2, examples),
        {200: 0, 199: 1},
    ),
    (
        lambda low: Findings.is_learned.fget(Fake(new=Fake(change=Fake(low=low)))),
        {0: False, 0.1: True},
    ),
    (
        lambda size: show_size(size),
        {999: "999 B", 1000: "1.0 KB"},
    ),
    (
        lambda n: "more" in listed("x" * n),
        {4: False, 5: True},
    ),
    (
        lambda n: _interval({0: 0, 1: 0}, {0: 1, 1: 2}, {*range(n)}) > "",
        {1: False, 2: True},
    ),
    (helped, {-2: "open", -1: "depends"}),
]


@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
def test_an_answer_changes_at_its_guard(answer, expected):
    assert {value: answer(value) for value in expected} == expected


LIMITS = [
    (
        lambda n: Compared(torch.rand(n, 2)),
        4,
        3,
    ),
    (
        lambda least: probe.Watch(old=PAIR, tolerate=least),
        0,
        -1e-9,
    ),
    (
        lambda most: probe.Watch(old=PAIR, tolerate=most),
        1e308,
        math.inf,
    ),
    (
        lambda seeds: probe.Measure(seeds=seeds).probing,
        10_000,
        10_001,
    ),
    (
        lambda n: orders(f"shuffle:{n}", 2),
        10_000,
        10_001,
    ),
    (
        lambda n: orders(f"shuffle:{n}", 2),
        1,
        0,
    ),
    (
        lambda K: _class_order({"num_classes": K}, Path()),
        1,
        0,
    ),
    (
        lambda K: _class_order({"num_classes": K}, Path()),
        10**6,
        10**6 + 1,
    ),
    (
        lambda n: probe.network("x" * n)(lambda: None),
        80,
        81,
    ),
    (
        lambda n: _check_name("x" * n),
        80,
        81,
    ),
    (
        lambda seconds: _check_ranges({}, None, seconds),
        1e15,
        1.1e15,
    ),
    (
        lambda dead: _check_ranges({"dead": dead}, None, 0),
        1,
        1.1,
    ),
    (
        lambda lifetime: diaz_rodriguez.sss([0], lifetime),
        5e-324,
        0,
    ),
    (
        lambda rows: _check_shape(Path(), rows),
        1002,
        1003,
    ),
    (
        lambda n: _check_sizes([n]),
        2,
        1,
    ),
    (
        lambda n: with_new_rows("w", torch.ones(n, 1), torch.ones(2, 1)),
        1,
        3,
    ),
    (
        lambda output: outputs_of(1, (1, 5), [output]),
        4,
        5,
    ),
    (
        lambda workers: RunOptions(workers=workers),
        10_000,
        10_001,
    ),
    (
        lambda share: RunOptions(executor="ray", gpus_per_job=share),
        0.001,
        0.0009,
    ),
    (
        lambda share: RunOptions(executor="ray", gpus_per_job=share),
        1,
        1.1,
    ),
    (
        lambda limit: ModelOptions(train_limit=limit),
        1,
        0,
    ),
]


@pytest.mark.parametrize(("take", "last", "beyond"), LIMITS)
def test_what_is_beyond_the_last_that_is_taken_is_refused(take, last, beyond):
    take(last)
    with pytest.raises((InputError, ValueError)):
        take(beyond)


UNTESTED = 102  # guards that no test finds moved: it only falls


def test_every_guard_has_a_test_that_finds_it_moved_or_a_reason_for_none():
    """The list is proved by `python -m tests.mutants.guards`."""
    listed = listed_guards()
    assert [row[:2] for row in listed] == [[file, text] for file, text, _ in guards()]
    assert sum(test == "no test yet" for _, _, test in listed) <= UNTESTED
    for _, _, test in listed:
        file, _, name = test.partition("::")
        function = name.partition("[")[0].rpartition(".")[2]
        assert not name or function in (ROOT / file).read_text()
