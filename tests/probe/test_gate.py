"""The gate: every public way in refuses the same networks and test data, and takes sound ones."""

import copy
import random
import re
from collections import OrderedDict
from functools import partial
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.masked import masked_tensor

import probe
from probe.errors import InputError
from probe.record.plugins.task_counter import TaskCounter
from probe.seeding import stream
from tests.probe.test_seeding import states

TASKS = [[0, 1], [2, 3]]
Y = torch.arange(40) % 4
X = 3 * torch.eye(4, 6)[Y] + torch.randn(40, 6, generator=stream(0))
OLD = Y < 2


class Net(nn.Module):
    """A network whose outputs a function changes."""

    def __init__(self, post):
        super().__init__()
        self.a = nn.Linear(6, 8)
        self.b = nn.Linear(8, 4)
        self.post = post
        self.own = np.random.default_rng(0)
        self.calls = 0

    def forward(self, x):
        return self.post(self, self.b(self.a(x).relu()))


def networks(post, broken):
    """Return a network before and after, the first with broken weights."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        pair = (Net(post).eval(), Net(post).eval())
    for name, value in broken.items():
        pair[0].get_parameter(name).data.view(-1)[0] = value
    return pair


def numbered(m, z):
    """Add the number of calls so far: a state that the network carries."""
    m.calls += 1
    return z + m.calls


def served(z):
    """Change all but the first half of a batch, as an expert with a capacity does."""
    return torch.cat([z[: len(z) // 2], -z[len(z) // 2 :]])


POSTS = {
    "torch draws": lambda m, z: z + torch.randn_like(z),
    "numpy draws": lambda m, z: z + torch.tensor(np.random.randn(*z.shape)).float(),  # noqa: NPY002
    "python draws": lambda m, z: z * random.random(),
    "python seldom draws": lambda m, z: z * (random.random() > 0.1),
    "its own generator draws": lambda m, z: z * float(m.own.random()),
    "a state": numbered,
    "a capacity": lambda m, z: served(z),
    "a norm over the batch": lambda m, z: z - z.mean(0),
    "pairs": lambda m, z: z + z.unflatten(0, (-1, 2)).flip(1).flatten(0, 1),
    "NaN": lambda m, z: z * torch.nan,
    "Inf": lambda m, z: z + torch.inf,
    "no finite logit": lambda m, z: z - torch.inf,
}
SOUND = {
    "as it is": lambda m, z: z,
    "draws in training": lambda m, z: z + torch.randn_like(z) if m.training else z,
    "a class to come": lambda m, z: z.index_fill(1, torch.tensor(3), -1e4),
}
BROKEN = {
    "a weight is NaN": {"a.weight": torch.nan},
    "a weight is Inf": {"b.bias": torch.inf},
}


def changed(values, value):
    """Return values, the sixth of them another."""
    values = values.clone()
    values.view(len(values), -1)[5, 0] = value
    return values


DATA = {
    "x is NaN": lambda x, y: (changed(x, torch.nan), y),
    "x is Inf": lambda x, y: (changed(x, torch.inf), y),
    "x is shorter": lambda x, y: (x[:-3], y),
    "y is shorter": lambda x, y: (x, y[:-3]),
    "-100": lambda x, y: (x, changed(y, -100)),
    "-1": lambda x, y: (x, changed(y, -1)),
    "no such class": lambda x, y: (x, changed(y, 9)),
    "a column": lambda x, y: (x, y[:, None]),
    "floats": lambda x, y: (x, y.float()),
    "words": lambda x, y: (x, ["a"] * len(y)),
    "no labels": lambda x, y: (x, None),
    "no inputs": lambda x, y: (None, y),
    "a list": lambda x, y: (x.tolist(), y),
    "nothing": lambda x, y: (x[:0], y[:0]),
    "without values": lambda x, y: (x.to("meta"), y),
    "sparse": lambda x, y: (x.to_sparse(), y),
    "masked": lambda x, y: (masked_tensor(x, x > 0), y),
    "wider": lambda x, y: (x.repeat(1, 2), y),
}


def recorder(folder, before, test, **given):
    return probe.Recorder(folder, before, test, TASKS, **given)


def of_tasks(change):
    return [change(X[OLD], Y[OLD]), (X[~OLD], Y[~OLD])]


def plugged(folder, before, after, change):
    counter = TaskCounter(recorder(folder, before, change(X, Y)))
    counter.begin(before)
    before.b.bias.data += 1
    counter.end()


def watched(folder, before, after, change):
    watch = probe.Watch(old=of_tasks(change)[0], tolerate=0.5)
    recorder(folder, before, (X, Y), diff=watch)


def in_files(folder, before, after, change):
    """Analyze files, as `probe model` does."""
    for learned, net in enumerate((before, after), 1):
        torch.save(net.state_dict(), folder / f"task{learned}.pt")
    model = probe.Model(f"{folder}/task{{task}}.pt", fresh=partial(Net, before.post))
    analyzed(model, change)


def analyzed(models, change):
    probe.analyze(models, (X, Y), change(X, Y), TASKS, ["a"], readouts=["ncm"])


# Each takes a folder, the networks before and after, and what changes the test data.
TESTED = {
    "analyze": lambda folder, before, after, change: analyzed(
        {1: before, 2: after}, change
    ),
    "analyze files": in_files,
    "causes": lambda folder, before, after, change: probe.causes(
        {1: before, 2: after}, of_tasks(change), features=["a"]
    ),
    "diff": lambda folder, before, after, change: probe.diff(
        before, after, *of_tasks(change), blocks=["a"]
    ),
    "partial_retrain": lambda folder, before, after, change: probe.partial_retrain(
        before, ["a"], (X, Y), change(X, Y), TASKS, probe.Recipe(epochs=1)
    ),
    "Recorder": lambda folder, before, after, change: recorder(
        folder, before, change(X, Y)
    ),
    "plugins": plugged,
    "Watch": watched,
}
CUT = {
    "split": lambda net, x: probe.split(net, "a", x),
    "cut_each": lambda net, x: probe.cut_each(net, ["a"], x),
    "cache_plan": lambda net, x: probe.cache_plan(net, ["a"], x, (9, 9)),
    "candidates": probe.candidates,
}
WITHOUT_NETWORKS = (
    "AccuracyMatrix Analysis CacheSettings Counts Diff Examples Measure Recipe "
    "TooMuchLost data example_causes learner load metric metrics network predictions "
    "readout"
)
ENTRIES = pytest.mark.parametrize("entry", TESTED.values(), ids=TESTED)
CUTS = pytest.mark.parametrize("cut", CUT.values(), ids=CUT)


def test_every_public_name_passes_the_gate_or_takes_no_network():
    named = WITHOUT_NETWORKS.split()
    assert {*TESTED, *CUT, "Model", *named} >= set(probe.__all__)


def refused(call):
    """Check that a call ends in one sentence, and leaves the global generators."""
    before = states()
    with pytest.raises(InputError) as error:
        call()
    assert "\n" not in str(error.value)
    assert states() == before


def same(x, y):
    return x, y


def enter(
    entry, folder, post=SOUND["as it is"], broken=MappingProxyType({}), change=same
):
    entry(folder, *networks(post, broken), change)


@ENTRIES
@pytest.mark.parametrize("post", SOUND.values(), ids=SOUND)
def test_sound_networks_and_data_pass(entry, post, tmp_path):
    before = states()
    enter(entry, tmp_path, post)
    assert states() == before


CASES = {name: {"post": post} for name, post in POSTS.items()}
CASES |= {name: {"broken": broken} for name, broken in BROKEN.items()}
CASES |= {name: {"change": change} for name, change in DATA.items()}


@ENTRIES
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_property_of_the_network_no_network_and_no_data_are_refused(
    entry, case, tmp_path
):
    refused(lambda: enter(entry, tmp_path, **case))


@CUTS
def test_cuts_refuse_networks_that_diverged_and_samples_that_are_none(cut):
    net, _ = networks(SOUND["as it is"], {})
    assert cut(net, X)
    for name in ("no inputs", "a list", "nothing", "without values", "sparse", "wider"):
        x, _ = DATA[name](X, Y)
        refused(lambda x=x: cut(net, x))
    for broken in BROKEN.values():
        wreck, _ = networks(SOUND["as it is"], broken)
        refused(lambda wreck=wreck: cut(wreck, X))
    if cut is not probe.candidates:  # which takes any values
        refused(lambda: cut(net, changed(X, torch.nan)))


def reset(model, x):
    model.calls = 0
    return model(x)


def test_a_state_that_call_resets_is_none():
    net, other = networks(numbered, {})
    models = probe.Model({1: net, 2: other}, call=reset)
    probe.causes(models, of_tasks(same), features=["a"])
    analyzed(models, same)


def test_a_score_that_draws_is_refused_and_a_seeded_one_is_not():
    def score(model, x, y):
        return model(x)[:, 0] + draws.random()

    draws = random.Random(0)
    nets = dict(enumerate(networks(SOUND["as it is"], {}), 1))
    refused(lambda: probe.causes(nets, of_tasks(same), score, ["a"]))

    def seeded(model, x, y):
        draws.seed(0)
        return score(model, x, y)

    probe.causes(nets, of_tasks(same), seeded, ["a"])


def test_positions_that_do_not_count_are_left_out_unless_all_are():
    y = torch.zeros(20, 3).long()
    y[:, 2] = -100
    x = torch.randn(20, 3, 6, generator=stream(1))
    nets = dict(enumerate(networks(SOUND["as it is"], {}), 1))
    for score in ("accuracy", "loss"):
        both = [
            probe.causes(nets, [data, data], score, features=["a"], long=True)
            for data in ((x, y), (x[:, :2], y[:, :2]))
        ]
        pd.testing.assert_frame_equal(*both)
    y[4] = -100
    refused(lambda: probe.causes(nets, [(x, y), (x, y)], features=["a"]))


class Packed(nn.Linear):
    """A layer whose weights are in no tensor, as quantized ones."""

    def get_extra_state(self):
        return b"int8"

    def set_extra_state(self, state):
        assert state == b"int8"


class Unfinished(nn.Module):
    """A network whose `__init__` forgets that of its class."""

    def __init__(self):
        self.ready = True


@pytest.mark.parametrize("entry", ["causes", "diff", "analyze"])
@pytest.mark.parametrize(
    ("made", "word"),
    [
        (torch.jit.script, "is scripted"),
        (lambda network: Unfinished(), "super().__init__()"),
    ],
)
def test_modules_that_take_no_hooks_are_refused(tmp_path, entry, made, word):
    layers = {"a": nn.Linear(6, 8), "b": nn.Linear(8, 4)}
    before = nn.Sequential(OrderedDict(layers))
    after = copy.deepcopy(before)
    for pair in ((made(before), after), (before, made(after))):
        with pytest.raises(InputError, match=re.escape(word)):
            TESTED[entry](tmp_path, *pair, lambda x, y: (x, y))


@pytest.mark.parametrize("what", [int, len])
def test_what_takes_no_mark_is_refused(what):
    with pytest.raises(InputError, match="written in Python"):
        probe.network("sum")(what)


@pytest.mark.parametrize("entry", ["causes", "diff", "analyze"])
def test_quantized_weights_that_cannot_be_put_back_are_refused(tmp_path, entry):
    pair = networks(SOUND["as it is"], {})
    for network in pair:
        network.b = Packed(8, 4)
    with pytest.raises(InputError, match="is quantized"):
        TESTED[entry](tmp_path, *pair, lambda x, y: (x, y))
