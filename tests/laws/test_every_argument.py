"""Every argument arrives: another value of it changes what is returned, written or called.

Those of an analysis change keys, see `test_keys_of_networks`; flags are in `test_said`.
"""

import copy
import json
from collections import OrderedDict
from contextlib import chdir
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
import torch
from torch import nn

import probe
from probe.errors import InputError
from probe.results.analysis import Analysis
from probe.values.allocation import CacheSettings
from tests.probe.one_pair import NEW, OLD, TEST, TRAIN, fitted

X = TEST[0]
TASKS = [[0, 1], [2, 3]]
LAYERS = ["a", "b", "c"]
CALLS = set()


def first(model, x):
    CALLS.add(("first", len(x)))
    logits = model(x)
    return logits, -logits


def second(model, x):
    CALLS.add(("second", len(x)))
    logits = model(x)
    return -logits, logits


def deep(seed=0):
    """Return a network of so many blocks that not all sets of them need be put back."""
    torch.manual_seed(seed)
    layers = {name: nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for name in LAYERS}
    network = nn.Sequential(OrderedDict(layers | {"out": nn.Linear(8, 4)}))
    network.out.bias.requires_grad_(False)
    return network


BEFORE = fitted(deep(), *OLD)
AFTER = fitted(copy.deepcopy(BEFORE), *NEW)
RUN = {1: BEFORE, 2: AFTER}
SHALLOW = nn.Sequential(OrderedDict(a=nn.Linear(8, 5), b=nn.Linear(5, 4)))


def recorded(folder, model, **arguments):
    """Return what a recorder writes of a network that learns two tasks, in an empty place."""
    model = copy.deepcopy(model)
    with TemporaryDirectory() as place, chdir(place):
        recorder = probe.Recorder(folder, model, **arguments)
        for learned, network in RUN.items():
            model.load_state_dict(network.state_dict())
            for _ in range(2 * recorder.counts_steps):
                recorder.after_step()
            recorder.after_task(learned)
        files = sorted(path for path in Path().rglob("*.*") if path.is_file())
        return [[str(path), path.read_bytes()] for path in files]


def watched(**arguments):
    """Return what a recorder with a watch writes, and what the watch reads."""
    watch = probe.Watch(**arguments)
    return recorded(**RECORDER, diff=watch), watch.table


def split(**arguments):
    part = probe.split(**arguments)
    return part.tail(part.prefix(X)), part.frozen


def cut_each(**arguments):
    cuts = probe.cut_each(**arguments)
    trained = [cut.split().tail.named_parameters() for cut in cuts.each]
    names = [[name for name, p in named if p.requires_grad] for named in trained]
    return cuts.logits(X), cuts.facts, names


def retrained(**arguments):
    return probe.partial_retrain(**arguments).measured


def of_model(**arguments):
    return retrained(**{**RETRAINING, "model": probe.Model(**arguments)})


CALLED = {"call": first, "output": 0}
CALLED_OTHERWISE = {"call": second, "output": 1}
RECORDER = {
    "folder": "run",
    "model": BEFORE,
    "test": TEST,
    "tasks": TASKS,
    "train": TRAIN,
    **CALLED,
}
CUT = {"model": AFTER, "sample": X[:5], **CALLED}
OTHER_CUT = {"model": SHALLOW, "sample": X[:4], **CALLED_OTHERWISE}
RETRAINING = {
    "model": probe.Model(AFTER, **CALLED),
    "features": ["a"],
    "train": TRAIN,
    "test": TEST,
    "tasks": TASKS,
    "recipe": probe.Recipe(epochs=4, learning_rate=0.03),
}
COMPARED = {"old": OLD, "new": NEW, "call": lambda m, x: first(m, x)[0]}
BLOCKS = {"low": ["a.*", "b.*"], "high": ["c.*", "out.*"]}
NO_PLACE = CacheSettings(budget=0, scratch=Path("absent/x"))
SWAPPED = [[2, 3], [0, 1]]
OF_ANALYSES = {"weights", "load", "orders", "device"}
# A function, arguments, and another value of each.
CASES = {
    probe.causes: (
        probe.causes,
        {"models": probe.Model(RUN, **CALLED), "test": [OLD, NEW]},
        {
            "models": probe.Model({1: AFTER, 2: BEFORE}, **CALLED),
            "test": [NEW, OLD],
            "score": "loss",
            "features": ["a", "c"],
            "hybrids": 12,
            "batch_size": 7,
            "margin": 0.9,
            "long": True,
        },
    ),
    probe.diff: (
        probe.diff,
        {"before": BEFORE, "after": AFTER, **COMPARED},
        {
            "before": deep(),
            "after": BEFORE,
            "old": TEST,
            "new": TEST,
            "train": TEST,
            "blocks": BLOCKS,
            "score": "loss",
            "call": lambda m, x: first(m, x)[1],
            "remedies": {"mine": lambda before, after: before},
            "margin": 0.9,
            "hybrids": 12,
            "batch_size": 7,
            "seed": 1,
        },
    ),
    probe.partial_retrain: (
        retrained,
        RETRAINING,
        {
            "model": probe.Model(BEFORE, **CALLED),
            "features": ["b"],
            "train": TEST,
            "test": TRAIN,
            "tasks": SWAPPED,
            "recipe": probe.Recipe(epochs=1),
            "seed": 1,
            "cache": NO_PLACE,
        },
    ),
    probe.Model: (
        of_model,
        {"network": AFTER, **CALLED},
        {
            "network": BEFORE,
            **CALLED_OTHERWISE,
            "head": "multi",
            "classes": [3, 2, 1, 0],
            "fresh": deep,
            "trainable": "as given",
        },
    ),
    probe.split: (split, {**CUT, "feature": "a"}, {**OTHER_CUT, "feature": "b"}),
    probe.cut_each: (
        cut_each,
        {**CUT, "features": ["a", "b"]},
        {**OTHER_CUT, "features": ["a"], "trainable": "as given", "tails": False},
    ),
    probe.candidates: (
        probe.candidates,
        CUT,
        {**OTHER_CUT, "output": 2, "progress": reversed},
    ),
    probe.cache_plan: (
        probe.cache_plan,
        {**CUT, "features": ["a", "b"], "sizes": (9, 9)},
        {
            **OTHER_CUT,
            "output": 2,
            "features": ["a"],
            "sizes": (9, 8),
            "cache": NO_PLACE,
        },
    ),
    probe.Recorder: (
        recorded,
        RECORDER,
        {
            "folder": "other",
            "model": AFTER,
            "test": TRAIN,
            "tasks": SWAPPED,
            "seed": 1,
            "order": "1",
            "learner": "mine",
            "train": TEST,
            "data": "mine:data",
            **CALLED_OTHERWISE,
            "head": "multi",
            "batch_size": 7,
            "every": 1,
            "layers": ["a"],
            "grows": "a.0",
            "diff": probe.Watch(old=OLD, tolerate=0.9),
        },
    ),
    probe.Watch: (
        watched,
        {"old": OLD, "new": NEW, "tolerate": 0.1, "every": 1, "stop": False},
        {
            "old": NEW,
            "new": OLD,
            "tolerate": 0.9,
            "every": 2,
            "score": "loss",
            "stop": True,
        },
    ),
}


def plain(thing):
    """Return what JSON does not know by its contents."""
    if isinstance(thing, pd.DataFrame):
        return thing.to_csv()
    if isinstance(thing, torch.Tensor):
        return thing.tolist()
    if isinstance(thing, probe.AccuracyMatrix):
        return thing.values.tolist()
    if isinstance(thing, probe.Diff):
        return thing.to_dict()
    return repr(thing)


def outcome(function, arguments):
    """Return what a call returns or raises, and the calls of networks, as text."""
    CALLS.clear()
    try:
        result = function(**arguments)
    except (InputError, probe.TooMuchLost) as refused:
        return str(refused)
    return json.dumps([result, sorted(CALLS)], default=plain)


@pytest.mark.parametrize("public", CASES, ids=lambda public: public.__name__)
def test_another_value_of_an_argument_changes_something(public):
    function, arguments, others = CASES[public]
    assert others.keys() == signature(public).parameters.keys() - OF_ANALYSES
    before = outcome(function, arguments)
    assert before.startswith("[")
    assert outcome(function, arguments) == before
    for name, value in others.items():
        assert outcome(function, {**arguments, name: value}) != before, name


def test_not_only_the_note_on_sampled_sets_of_blocks_changes():
    arguments = {"before": BEFORE, "after": AFTER, **COMPARED}
    sampled = probe.diff(**arguments, hybrids=12)
    assert not sampled.causes.equals(probe.diff(**arguments).causes)


def analyzed(folder):
    """Analyze the networks of two learners in files."""
    for name, networks in {"x": RUN, "y": {1: AFTER, 2: BEFORE}}.items():
        for learned, network in networks.items():
            torch.save(network.state_dict(), folder / f"{name}-{learned}.pt")
    torch.save(deep(1).state_dict(), folder / "joint.pt")
    model = probe.Model(f"{folder}/{{learner}}-{{task}}.pt", fresh=deep)
    joint = folder / "joint.pt"
    return probe.analyze(
        model, TRAIN, TEST, TASKS, ["a", "b"], offline=joint, readouts=["ncm", "knn"]
    )


def test_so_does_an_argument_of_what_is_asked_of_an_analysis(tmp_path):
    analysis = analyzed(tmp_path)
    tables = analysis.tables()
    empty = {name: tables[name][:0] for name in ("layers", "causes")}
    without_answers = Analysis(tables_by_name={**tables, **empty})
    for of in (analysis, without_answers):
        assert len({of.latex(), of.latex("x"), of.latex("y")}) == 3
    cell = {"feature": "a", "readout": "knn", "learner": "x"}
    others = {"feature": "b", "readout": "ncm", "learner": "y"}
    for name, value in others.items():
        other = {**cell, name: value}
        assert outcome(analysis.matrix, cell) != outcome(analysis.matrix, other)
        if name != "learner":  # Joint training is that of all.
            assert outcome(analysis.ceiling, cell) != outcome(analysis.ceiling, other)
    by_loss = probe.example_causes(analysis, "loss")
    assert not by_loss.equals(probe.example_causes(analysis))
    for name, table in tables.items():
        assert analysis.to_pandas(name) is table


def test_so_does_what_is_said_again_of_a_recording(tmp_path):
    recorder = probe.Recorder(
        tmp_path, BEFORE, TEST, TASKS, train=TRAIN, head="single", **CALLED
    )
    recorder.after_task(2)

    def measured(**settings):
        model = probe.Model(tmp_path, fresh=deep, **{"call": first, **settings})
        return outcome(
            lambda: probe.analyze(model, features=["a"], readouts=["ncm"]).to_dict(), {}
        )

    before = measured()
    assert before.startswith("[")
    for name, value in {**CALLED_OTHERWISE, "head": "multi"}.items():
        assert measured(**{name: value}) != before, name
