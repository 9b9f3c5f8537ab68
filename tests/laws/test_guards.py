"""Comparisons that decide a refusal, a verdict or a word: what is one step on either side."""

import math
from pathlib import Path
from stat import S_IFREG
from types import SimpleNamespace as Fake
from unittest.mock import MagicMock, patch

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils.data import ChainDataset, DataLoader

import probe
from figures.maps import _cell
from probe.analysis.intervals import Estimate
from probe.analysis.quantities import Term
from probe.analysis.similarity import Compared
from probe.analysis.statements import beyond_margin
from probe.answers.record import Answer, Interval, LayerLine
from probe.answers.study import _hidden_by_mean, _rests_on
from probe.answers.text import cut, headline
from probe.batch import _ends
from probe.before_after import answer as pairs
from probe.before_after.answering import Evidence
from probe.before_after.meaning import Findings
from probe.before_after.remedies import Workshop
from probe.before_after.setting import Blame
from probe.by_layer.jobs import jobs_of
from probe.by_layer.measurement import Cost, _check_ranges
from probe.by_layer.network_source import _check_padded
from probe.by_layer.trained_networks import _checkpoints
from probe.cut.checks import _value
from probe.devices import device_named
from probe.errors import InputError
from probe.examples import Examples
from probe.files import check_unpacked
from probe.memory import show_size
from probe.metrics import diaz_rodriguez
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.matrix_file import _check_shape, _check_size, _count_up, learned
from probe.metrics.serra import forgetting_ratio
from probe.notes import of_recorded
from probe.reading.item_format import _named_parts
from probe.reading.read import _in_order
from probe.readouts.pooling import Layout
from probe.record.readers.frameworks import _class_order
from probe.record.recorded_network import RecordedNetwork
from probe.record.recorder import _check_sizes
from probe.results.analysis import Analysis
from probe.results.explanation import _lines
from probe.results.one_pair import _is_pair
from probe.results.repeats import _predicts_the_same
from probe.results.run_directory import _jobs
from probe.results.statements import _is_still_moving
from probe.rewinding.blocks import with_new_rows
from probe.rewinding.correspondence import Comparison, Relation, correlations
from probe.rewinding.data import as_pair
from probe.rewinding.pairs import deficit_doubt
from probe.rewinding.parts import _recurrent_layers
from probe.rewinding.verdicts import Shown, verdict
from probe.tables.compared import _interval
from probe.tables.layer_text import is_part, pra_sheet, retained
from probe.tables.note_text import listed
from probe.tasks import orders
from probe.training.evaluation import (
    _finite,
    check_independence,
    check_repeats,
    outputs_of,
)
from probe.training.history import never_left
from probe.validation import message
from scenarios.commands.diff import show_diff
from scenarios.commands.layers import sample_inputs
from scenarios.commands.model import classes_of_tasks
from scenarios.commands.screen.results import _show_answers
from scenarios.data.datasets import Dataset, standardized
from scenarios.data.image_sets import _read
from scenarios.learners.penalties.rwalk import normalized
from scenarios.options import ModelOptions, RunOptions, parse_size
from scenarios.streams import incremental, permuted
from scenarios.study.spec import Study, _check_name
from tests.mutants.contexts import ROOT
from tests.mutants.guards import guards, listed_guards


def estimate(low, high):
    return Estimate(value=(low + high) / 2, low=low, high=high, seeds=3)


def share(low, high, above=0.0):
    """Return what is said of the share that a layer retains."""
    return retained(
        {"retained": estimate(low, high), "above_floor": estimate(-1, above)}
    )


def hidden_by_mean(of_first):
    """Return whether a layer's share of the first task is apart from that of the last, 1 to 3."""
    shares = pd.DataFrame(
        {
            "quantity": "attributed",
            "feature": "layer",
            "task_position": [1, 2, 3],
            "value": [of_first, 2, 2],
            "low": [of_first, 1, 1],
            "high": [of_first, 3, 3],
        }
    )
    return any(_hidden_by_mean(shares))


def back(low, value=1.0, new_low=0.0):
    """Return whether a remedy returns most of 2 points."""
    old = Interval(value=value, low=low, high=2)
    remedy = Fake(old_change=old, new_change=Interval(value=0, low=new_low, high=1))
    findings = Fake(remedies={"put back": remedy}, lost=Fake(value=2))
    return Findings.returns_most(findings, "put back")


def doubts(competition, hybrids, examples, facts=True, changed="a"):
    """Return how many doubts there are beside those of any answer without new examples."""
    values = {("", "competition"): np.array([competition])}
    two = Fake(
        quantities=Fake(withheld="", values=values),
        changed=changed,
        borrows_outputs=False,
    )
    setting = Fake(
        labels=[range(examples), range(999)],
        has_new=False,
        hybrids=hybrids,
        models=Fake(notes=()),
    )
    blame = Fake(two=two, parts=Fake(facts=facts))
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
    return _is_still_moving(Fake(quantities=quantities), "forgets")


def helped(low):
    """Return the verdict where both ends help and the share does so only perhaps."""
    below = Shown(low=-3, high=-2, margin=2)
    return verdict(below, below, Shown(low=low, high=1, margin=2))


LSTM = {"block": ("0.weight_ih_l0",)}
LAYERS = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))


def study(n):
    """Return rows of a study of n tasks and seeds."""
    columns = {
        "seed": range(n),
        "order": "",
        "task_position": n,
        "metric": "pra",
        "seeds": n,
        "learner": "",
        "feature": "",
        "mean": math.nan,
    }
    return pd.DataFrame(columns)


def is_weak(low, high):
    """Return whether a cell of a map with this interval is weak."""
    row = MagicMock(value=0.5, low=low, high=high, task_position=1)
    return _cell([row], withheld=False).weak


def names_more_blocks(n):
    """Return whether a diff's table of n blocks ends with the number of those left out."""
    line = MagicMock(block="a", new=None)
    answer = Fake(new=None, interval=str, change=lambda *_: "")
    *_, last = pairs.Answer._table(answer, [line] * n, "block")
    return last.startswith("and ")


def parts_inside(n):
    """Return how many parts are shown of a block with n."""
    evidence = MagicMock(inside=True, _lines=lambda *_: ("line",) * n)
    return len(Evidence.answer.fget(evidence).inside)


def recommended(change):
    """Return how many remedies are recommended of one that changes old by this."""
    remedies = {"put back": Fake(old_change=Fake(value=change))}
    evidence = MagicMock(guilty_put_back="put back", remedies=remedies)
    evidence.setting.has_new = False
    return len(Evidence._recommended(evidence))


def averages(n):
    """Return how many averages are tested where n blocks have changed."""
    workshop = MagicMock(before=LAYERS, after=LAYERS)
    workshop.blame.guilty = "a"
    workshop.blame.two.changed = dict.fromkeys("ab"[:n], Fake(tensors=()))
    return len([*Workshop.averages(workshop)])


def traded(restored, new):
    """Return the block that is traded, of one with these ends of its intervals."""
    rows = {"feature": ["a"], "restored_low": [restored], "new_high": [new]}
    return Blame.traded.fget(Fake(by_share=pd.DataFrame(rows)))


def has_visit(call):
    """Return whether a module that is called once has a value at a call."""
    model = Fake(model=LAYERS, train=LAYERS.train)
    return _value(Fake(module="0", call=call), model, torch.rand(2, 1), False) != []


def accuracy(value):
    """Return predictions for one large task of this accuracy."""
    return Fake(tasks=(), accuracies=lambda: [value], test_sizes=lambda: [10**9])


def is_the_same(n):
    """Return whether a network is said to predict the same after each of n tasks."""
    test = Fake(predicted={"all": np.zeros(2)})
    tests = dict.fromkeys(range(1, n + 1), test)
    return _predicts_the_same(Fake(output_tests=lambda job: tests), None)


def is_constant(spread):
    """Return whether a unit of this spread counts as constant."""
    units = spread * torch.tensor([[-1.0], [1.0]])
    return correlations(units, units).item() == 0


def improves(correlation):
    """Return whether an order that raises correlations by this improves the next block."""
    units = {"": torch.rand(2, 1)}
    comparison = MagicMock()
    comparison.change.last = LAYERS
    comparison._after.return_value = units
    agreement = "probe.rewinding.correspondence._agreement"
    with patch(agreement, side_effect=[0, correlation]):
        return Comparison._improves(comparison, None, ["0"], "", units)


def lists_keys(n):
    """Return whether a message on an unknown key lists the n keys of its table."""
    detail = {"type": "extra_forbidden", "loc": ["unknown"]}
    return "known: " in message(detail, ["key"] * n)


def plan_jobs(n):
    """Plan n jobs, of which none is made."""
    learners = {"offline": MagicMock(offline=True)}
    plan = MagicMock(learners=learners, controls=())
    plan.seeds.__len__.return_value = n
    jobs_of(plan)


def check_cost(amount):
    """Check a cost of this amount."""
    cost = Cost(*[amount] * 7)
    _check_ranges({}, Fake(cost=cost, seconds=0), 0)


def choose_gpu(index):
    """Choose a GPU of a machine that has one."""
    with patch("torch.cuda.device_count", lambda: 1):
        device_named(f"cuda:{index}")


def compare_ratio(room):
    """Compare with a reference that is this much above chance."""
    R = AccuracyMatrix.of([[0.0], [0.5]])
    forgetting_ratio(R, [[0.0], [room]])


def read_stream(workers):
    """Read a stream by a loader of the user's own class."""
    own_class = type("Own", (DataLoader,), {})
    _in_order(own_class(ChainDataset([]), num_workers=workers))


def take_logits(least):
    """Take the output of a network that is to grow by a class."""
    logits = torch.tensor([[0.0, least]])
    called = Fake(model_call=lambda *_: logits)
    network = Fake(called=called, model=None, n_classes=3, grows="head")
    RecordedNetwork._logits(network, None)


def check_batches(noise):
    """Check values that differ by 1 beside others, and by this much from pass to pass."""
    passes = iter([0, 1, 1, 0, noise])
    check_independence(
        lambda x: [("value", torch.full((2, 1), float(next(passes))))],
        torch.zeros(2, 1),
        torch.zeros(2).long(),
    )


def check_passes(difference):
    """Check values of 0 and 1 that differ by this much from pass to pass."""
    passes = iter([0, difference])
    check_repeats(lambda: torch.tensor([[0.0], [1.0]]) + next(passes), "", "")


def vectors(*shape):
    """Return a data set of inputs of this shape."""
    examples = Examples(torch.rand(shape), torch.arange(shape[0]))
    return Dataset(name="", classes=shape[0], train=examples, test=examples)


def read_images(label):
    """Read images of one class."""
    images = Fake(data=np.zeros((1, 8, 8)), targets=[label])
    with patch("scenarios.data.image_sets._torchvisions") as loader_of:
        loader_of.return_value.return_value = images
        _read("mnist", Path(), "train", False)


def compare_networks(tolerate):
    """Compare two networks, of which nothing is computed."""
    options = Fake(tolerate=tolerate, out=None, json=False)
    with patch("scenarios.commands.diff._compare") as compare:
        compare.return_value.answer.lost.low = 0
        show_diff("", "", options)


def unpack(size, stored=1):
    """Check a zip file that unpacks to this size."""
    path = MagicMock()
    path.stat.return_value.st_size = stored
    with patch("probe.files.ZipFile") as archive:
        content = archive.return_value.__enter__.return_value
        content.infolist.return_value = [Fake(file_size=size)]
        check_unpacked(path)


def names_more_methods(n):
    """Return whether the answers on n methods end with the number of those left out."""
    module = "scenarios.commands.screen.results"
    with patch(f"{module}.answer_lines"), patch(f"{module}.show_line") as shown:
        _show_answers(range(n))
    return shown.called


def explained(terms):
    """Return how many rows explain a difference, of which so many terms are measured."""
    both = [Term.END, Term.FLOOR]
    predictions = MagicMock()
    predictions.by_learner.return_value = {"er": [MagicMock(tasks=["a"])]}
    predictions.names.return_value = ["a"]
    values = dict.fromkeys(both[:terms], 0.5)
    with patch("probe.results.explanation._values", return_value=values):
        return len([*_lines(predictions, {"learner": "er"}, "above_floor", both)])


def has_floor_for(layers):
    """Return whether an untrained network is added for a learner with so many layers."""
    spec = MagicMock(learners={"er": Fake(kind="er")})
    spec.features_of.return_value = range(layers)
    return "untrained" in Study.all_learners.fget(spec)


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
    (
        lambda low: is_weak(low, 1),
        {0: True, 0.1: False},
    ),
    (
        lambda high: is_weak(-1, high),
        {0: True, -0.1: False},
    ),
    (
        lambda row: _ends((torch.arange(10) == row)[:, None] * torch.arange(3.0)).ndim,
        {7: 0, 8: 1},
    ),
    (names_more_blocks, {8: False, 9: True}),
    (parts_inside, {1: 0, 2: 2}),
    (recommended, {0: 0, 0.1: 1}),
    (
        lambda n: doubts(0, 4, 200, facts=False, changed="ab"[:n]),
        {1: 0, 2: 1},
    ),
    (averages, {1: 3, 2: 6}),
    (
        lambda restored: traded(restored, -1),
        {0: "", 0.1: "a"},
    ),
    (
        lambda new: traded(1, new),
        {0: "", -0.1: "a"},
    ),
    (has_visit, {0: True, 1: False}),
    (
        lambda n: _count_up([["3", "4", "5"][:n], ["0.5"]]),
        {2: False, 3: True},
    ),
    (
        lambda value: len([*of_recorded(accuracy(0), accuracy(value))]),
        {0.01: 0, 0.0105: 1},
    ),
    (
        lambda n: (
            "averaged" in Layout(shape=(4, 9), bins=(1,), read=(0,) * n).description
        ),
        {1: False, 2: True},
    ),
    (
        lambda n: bool(Analysis._of_one_network.fget(MagicMock(seeds=n))),
        {1: False, 2: True},
    ),
    (
        lambda networks: _is_pair([0] * networks, None, []),
        {2: True, 3: False},
    ),
    (is_the_same, {1: False, 2: True}),
    (
        lambda n: _jobs("x" * n),
        {1: "1 job", 2: "2 jobs"},
    ),
    (is_constant, {0.95e-6: True, 1.05e-6: False}),
    (improves, {0.3: False, 0.31: True}),
    (
        lambda value: _finite(torch.tensor([value])).item() == 0,
        {torch.finfo(torch.float32).max: True, 3e38: False},
    ),
    (lists_keys, {0: False, 1: True, 8: True, 9: False}),
    (
        lambda top: normalized({"a": torch.tensor([1.0, top])})["a"].tolist(),
        {1.0: [0, 0], 2.0: [0, 1]},
    ),
    (
        lambda n: cut("x" * n, 4),
        {4: "xxxx", 5: "…xxx"},
    ),
    (
        lambda value: headline(
            MagicMock(forgotten=Fake(value=value), learned=None, main_layers=[])
        )[:4],
        {-0.0004: "forg", -0.0006: "gain"},
    ),
    (
        lambda n: len([*_rests_on(study(n), "", None)]),
        {1: 1, 2: 2},
    ),
    (names_more_methods, {4: False, 5: True}),
    (explained, {1: 0, 2: 1}),
    (
        lambda n: [*_recurrent_layers(nn.Sequential(nn.LSTM(1, 1, n)), LSTM)],
        {1: ["block"], 2: ["0 layer 1"]},
    ),
    (
        lambda n: pra_sheet(study(n)).title.endswith("%"),
        {1: True, 2: False},
    ),
    (
        lambda n: isinstance(sample_inputs(["3"] * n, False), tuple),
        {1: False, 2: True},
    ),
    (has_floor_for, {1: False, 2: True}),
    (hidden_by_mean, {0: True, 1: False, 3: False, 4: True}),
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
        lambda most: probe.Watch(old=PAIR, tolerate=most, score="loss"),
        1e308,
        math.inf,
    ),
    (
        lambda most: probe.Watch(old=PAIR, tolerate=most),
        math.nextafter(1, 0),
        1,
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
    (plan_jobs, 100_000, 100_001),
    (check_cost, 2**63 - 1, 2**63),
    (
        lambda other: _check_padded(
            MagicMock(logits=lambda *_: torch.tensor([[0, other]])), None, 1
        ),
        -1,
        0,
    ),
    (
        lambda tasks_seen: _checkpoints({tasks_seen: "task.pt"}, None, 1),
        0,
        -1,
    ),
    (choose_gpu, 0, 1),
    (
        lambda size: _check_size(
            Fake(stat=lambda: Fake(st_mode=S_IFREG, st_size=size))
        ),
        2**25,
        2**25 + 1,
    ),
    (
        lambda value: learned([[value]], Path()),
        0,
        -0.1,
    ),
    (compare_ratio, 1.05e-9, 0.95e-9),
    (
        lambda names: _named_parts([*names], names),
        "xy",
        "xz",
    ),
    (read_stream, 1, 2),
    (take_logits, -9999, -10_000),
    (
        lambda n: as_pair((torch.rand(n, 1), torch.zeros(n)), "old"),
        2,
        1,
    ),
    (check_batches, 0.25, 0.24),
    (check_passes, 0.0005, 0.00054),
    (compare_networks, 0, -0.1),
    (
        lambda label: classes_of_tasks(f"0-{label}"),
        99_999,
        100_000,
    ),
    (
        lambda dims: standardized(vectors(*[2] * dims)),
        2,
        1,
    ),
    (read_images, 9, 10),
    (
        lambda digits: parse_size("9" * digits, ""),
        18,
        19,
    ),
    (
        lambda base: incremental(vectors(3, 2), base),
        1,
        0,
    ),
    (
        lambda numbers: permuted(vectors(2, numbers), 1),
        2,
        1,
    ),
    (unpack, 2**26, 2**26 + 1),
    (
        lambda size: unpack(size, 335_545),
        67_109_000,
        67_109_001,
    ),
    (
        lambda name: sample_inputs(["a=3", f"{name}=3"], False),
        "b",
        "a",
    ),
]


@pytest.mark.parametrize(("take", "last", "beyond"), LIMITS)
def test_what_is_beyond_the_last_that_is_taken_is_refused(take, last, beyond):
    take(last)
    with pytest.raises((InputError, ValueError)):
        take(beyond)


def test_every_guard_has_a_test_that_finds_it_moved_or_a_reason_for_none():
    """The list is proved by `python -m tests.mutants.guards`."""
    listed = listed_guards()
    assert [row[:2] for row in listed] == [[file, text] for file, text, _ in guards()]
    for _, _, test in listed:
        file, _, name = test.partition("::")
        function = name.partition("[")[0].rpartition(".")[2]
        assert not name or function in (ROOT / file).read_text()
