"""The law of keys for networks that were trained elsewhere: see `tests.laws.test_keys`."""

from dataclasses import replace
from functools import partial
from inspect import signature
from itertools import product

import pytest
import torch
from torch import nn

import probe
from probe.by_layer.source_plan import plan_by_reading
from probe.readouts.readout import Linear
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.values.allocation import CacheSettings
from tests.laws.keys import (
    addresses,
    assert_only,
    everything,
    nothing,
    of_blocks,
    of_learners,
    of_sets,
    retrained,
    with_permuted_labels,
)


class Planned(Exception):
    """The plan of an analysis is made."""


def net(seed=0):
    layers = [nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 4)]
    network = nn.Sequential(*layers)
    initialize(network, "torch", stream(seed, "init"))
    return network


def examples(seed):
    return torch.rand(16, 3, generator=stream(seed, "x")), torch.arange(16) % 4


def scaled(sign, model, x):
    logits = sign * model(x)
    return {"logits": logits, "negative": -logits}


SEEDS = (0, 5)
MODELS = {seed: {t: net(10 * seed + t) for t in (1, 2)} for seed in SEEDS}
OFFLINE = {seed: net(10 * seed + 3) for seed in SEEDS}
MODEL = probe.Model(MODELS, call=partial(scaled, 1), output="logits")
MEASURE = probe.Measure(readouts=["retrain", "linear", "ncm"], inherited=True)
INPUTS = {
    "models": MODEL,
    "train": examples(1),
    "test": examples(2),
    "tasks": [[0, 1], [2, 3]],
    "features": ["0", "2"],
    "untrained": net(),
    "offline": OFFLINE,
    "readouts": MEASURE,
    "recipe": probe.Recipe(),
}


def planned(**inputs):
    """Return the addresses of the results of an analysis."""

    def stop(description):
        raise Planned(plan_by_reading(description))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("probe.results.analyze._planned", stop)
        with pytest.raises(Planned) as stopped:
            probe.analyze(**(INPUTS | inputs))
    return addresses(stopped.value.args[0])


def of_linear(result):
    return result.readout.planned == "linear"


CHANGES = {
    probe.analyze: {
        "train": (examples(3), everything),
        "test": (examples(3), everything),
        "tasks": ([[0, 2], [1, 3]], everything),
        "features": (["2"], of_blocks),
        "untrained": (net(99), everything),
        "recipe": (probe.Recipe(epochs=9), everything),
        "out": ("run", nothing),
    },
    probe.Model: {
        "call": (partial(scaled, -1), everything),
        "output": ("negative", everything),
        "head": ("multi", everything),
        "classes": (range(3, -1, -1), everything),
        "fresh": (net, everything),
        "trainable": ("as given", everything),
        "device": ("cpu", nothing),
    },
    probe.Measure: {
        "readouts": (["retrain", Linear(C=2.0), "ncm"], of_linear),
        "steps": ({"linear": "last", "ncm": "last"}, nothing),
        "budget": ((1, 2), nothing),
        "controls": (["labels"], with_permuted_labels),
        "hybrids": (1, of_sets),
        "inherited": (False, nothing),
        "blocks": ({"first": "0.*"}, of_sets),
        "cache": (CacheSettings(storage="bf16"), retrained),
    },
}
BELOW = {
    probe.analyze: {"models", "offline", "readouts"},
    probe.Model: {"network", "orders"},
    probe.Measure: {"seeds"},
}
OF_FILES = {"load", "weights"}
"""Inputs that are changed below; those of files say how weights are read, which count."""


@pytest.mark.parametrize("table", CHANGES, ids=lambda table: table.__name__)
def test_an_input_of_an_analysis_moves_what_depends_on_it(table):
    names = {*signature(table).parameters} - BELOW[table] - OF_FILES
    assert names == CHANGES[table].keys()
    before = planned()
    for name, (value, depends) in CHANGES[table].items():
        inputs = {name: value}
        if table is not probe.analyze:
            where = "models" if table is probe.Model else "readouts"
            inputs = {where: replace(INPUTS[where], **inputs)}
        assert_only(before, planned(**inputs), depends)


def test_networks_move_their_run_and_what_is_compared_with_them():
    before = planned()
    compared = of_learners({"offline"})
    for seed, tasks_seen in product(SEEDS, (1, 2)):
        run = MODELS[seed] | {tasks_seen: net(99)}
        after = planned(models=replace(MODEL, network=MODELS | {seed: run}))
        here = {"learner": "model", "seed": seed}
        assert_only(before, after, lambda r, here=here: here.items() <= vars(r).items())
        after = planned(offline=OFFLINE | {seed: net(99)})
        assert_only(before, after, lambda r, seed=seed: r.seed == seed and compared(r))


def test_files_move_the_run_of_their_order(tmp_path):
    def read():
        files = str(tmp_path / "{order}-{task}.pt")
        model = probe.Model(files, fresh=net, orders={"a": [1, 2], "b": [2, 1]})
        return planned(models=model, untrained=None, offline=None)

    for seed, name in enumerate(("a-1", "a-2", "b-1", "b-2")):
        torch.save(net(seed).state_dict(), tmp_path / f"{name}.pt")
    before = read()
    torch.save(net(99).state_dict(), tmp_path / "b-1.pt")
    assert_only(before, read(), lambda result: result.run[:2] == ("model", (1, 0)))


def test_more_retrainings_of_one_network_move_none():
    once, twice = (
        planned(models=MODELS[0], offline=None, readouts=replace(MEASURE, seeds=seeds))
        for seeds in (1, 2)
    )
    assert_only(once, twice, nothing)
