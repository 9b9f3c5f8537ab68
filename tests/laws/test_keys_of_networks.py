"""The law of keys for networks that were trained elsewhere: see `tests.laws.test_keys`."""

from dataclasses import fields, replace
from functools import partial
from inspect import signature
from itertools import product
from pathlib import Path

import pytest
import torch
from torch import nn

import probe
from probe.by_layer.source_plan import plan_by_reading
from probe.readouts.readout import Linear
from probe.seeding import stream
from probe.stored_names import DIAGNOSTICS
from probe.training.fresh_weights import initialize
from probe.values.allocation import CacheSettings
from tests.laws.keys import (
    addresses,
    assert_only,
    everything,
    nothing,
    of_blocks,
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


def of_seed(seed, result):
    return result.run[::2] == ("model", seed)


def of_ceiling(seed, result):
    """The offline network, and what is compared with it."""
    compared = result.learner == "model" and result.readout.base == DIAGNOSTICS
    return result.seed == seed and (result.learner == "offline" or compared)


CHANGES = [
    (None, {"train": examples(3)}, everything),
    (None, {"test": examples(3)}, everything),
    (None, {"tasks": [[0, 2], [1, 3]]}, everything),
    (None, {"features": ["2"]}, of_blocks),
    (None, {"untrained": net(99)}, everything),
    (None, {"recipe": probe.Recipe(epochs=9)}, everything),
    (None, {"out": "run"}, nothing),
    (probe.Measure, {"readouts": ["retrain", Linear(C=2.0), "ncm"]}, of_linear),
    (probe.Measure, {"steps": {"linear": "last"}, "inherited": None}, nothing),
    (probe.Measure, {"budget": (1, 2)}, nothing),
    (probe.Measure, {"controls": ["labels"]}, with_permuted_labels),
    (probe.Measure, {"hybrids": 1}, of_sets),
    (probe.Measure, {"blocks": {"first": "0.*"}}, of_sets),
    (CacheSettings, {"storage": "bf16"}, retrained),
    (CacheSettings, {"budget": 9**9, "scratch": Path("x"), "room": 9**9}, nothing),
    (probe.Model, {"call": partial(scaled, -1)}, everything),
    (probe.Model, {"output": "negative"}, everything),
    (probe.Model, {"head": "multi"}, everything),
    (probe.Model, {"classes": range(3, -1, -1)}, everything),
    (probe.Model, {"fresh": net}, everything),
    (probe.Model, {"trainable": "as given"}, everything),
    (probe.Model, {"device": "cpu"}, nothing),
]
for seed, tasks_seen in product(SEEDS, (1, 2)):
    networks = MODELS | {seed: MODELS[seed] | {tasks_seen: net(99)}}
    CHANGES.append((probe.Model, {"network": networks}, partial(of_seed, seed)))
    offline = {"offline": OFFLINE | {seed: net(99)}}
    CHANGES.append((None, offline, partial(of_ceiling, seed)))
APART = {
    probe.Model: {"orders", "load", "weights"},
    probe.Measure: {"seeds", "cache"},
    CacheSettings: set(),
}


def inputs_of(table, changes):
    if table is CacheSettings:
        return inputs_of(probe.Measure, {"cache": CacheSettings(**changes)})
    if table is None:
        return changes
    name = "models" if table is probe.Model else "readouts"
    return {name: replace(INPUTS[name], **changes)}


def test_an_input_of_an_analysis_moves_what_depends_on_it():
    before = planned()
    for table, changes, depends in CHANGES:
        assert_only(before, planned(**inputs_of(table, changes)), depends)


def test_every_input_of_an_analysis_is_changed():
    changed = {None: {"models", "readouts"}} | {
        table: {*names} for table, names in APART.items()
    }
    for table, changes, _ in CHANGES:
        changed[table] |= changes.keys()
    assert changed.pop(None) == {*signature(probe.analyze).parameters}
    for table, names in changed.items():
        assert names == {field.name for field in fields(table)}


def test_a_file_moves_its_run(tmp_path):
    def save(order, tasks_seen, seed):
        states = {"plain": net(seed).state_dict(), "mean": net(seed + 1).state_dict()}
        torch.save(states, tmp_path / f"{order}-{tasks_seen}.pt")

    def read(**changes):
        settings = {"weights": "plain", "orders": {"a": [1, 2], "b": [2, 1]}} | changes
        files = probe.Model(str(tmp_path / "{order}-{task}.pt"), fresh=net, **settings)
        return planned(models=files, untrained=None, offline=None)

    for seed, (order, tasks_seen) in enumerate(product("ab", (1, 2))):
        save(order, tasks_seen, 10 * seed)
    before = read()
    for change in (
        {"weights": "mean"},
        {"load": lambda path: net(int(path.stem[-1]))},
        {"orders": {"b": [1, 2], "a": [2, 1]}},
    ):
        assert_only(before, read(**change), lambda result: result.learner == "model")
    save("b", 1, 99)
    assert_only(before, read(), lambda result: result.run[:2] == ("model", (1, 0)))


def test_more_retrainings_of_one_network_move_none():
    once, twice = (
        planned(
            models=MODELS[0], offline=None, **inputs_of(probe.Measure, {"seeds": seeds})
        )
        for seeds in (1, 2)
    )
    assert_only(once, twice, nothing)
