"""The law of keys for networks that were trained elsewhere: see `tests.laws.test_keys`."""

from dataclasses import fields, replace
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


def networks(run):
    return {tasks_seen: net(10 * run + tasks_seen) for tasks_seen in (1, 2)}


SEEDS = (0, 5)
MODELS = {seed: networks(seed) for seed in SEEDS}
OFFLINE = {seed: net(10 * seed + 3) for seed in SEEDS}
READOUTS = ("retrain", "linear", "ncm")
INPUTS = {
    "models": MODELS,
    "train": examples(1),
    "test": examples(2),
    "tasks": [[0, 1], [2, 3]],
    "features": ["0", "2"],
    "untrained": net(),
    "offline": OFFLINE,
    "readouts": probe.Measure(readouts=READOUTS, inherited=True),
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


def test_a_network_moves_its_run():
    before = planned()
    for seed, tasks_seen in product(SEEDS, (1, 2)):
        run = MODELS[seed] | {tasks_seen: net(99)}
        after = planned(models=MODELS | {seed: run})
        assert_only(before, after, lambda r, seed=seed: r.run[::2] == ("model", seed))


def test_an_offline_network_moves_its_seed_and_what_is_compared_with_it():
    before = planned()
    for seed in SEEDS:
        after = planned(offline=OFFLINE | {seed: net(99)})

        def depends(result, seed=seed):
            compared = result.learner == "model" and result.readout.base == DIAGNOSTICS
            return result.seed == seed and (result.learner == "offline" or compared)

        assert_only(before, after, depends)


def of_linear(result):
    return result.readout.planned == "linear"


SETTINGS = ("retrain", Linear(C=2.0), "ncm")
ALTERED = {
    "train": (examples(3), everything),
    "test": (examples(3), everything),
    "tasks": ([[0, 2], [1, 3]], everything),
    "features": (["2"], of_blocks),
    "untrained": (net(99), everything),
    "recipe": (probe.Recipe(epochs=9), everything),
    "out": ("run", nothing),
    "Measure.readouts": (SETTINGS, of_linear),
    "Measure.steps": ({"linear": "last"}, nothing),
    "Measure.budget": ((1, 2), nothing),
    "Measure.controls": (["labels"], with_permuted_labels),
    "Measure.hybrids": (1, of_sets),
    "Measure.inherited": (False, nothing),
    "Measure.blocks": ({"first": "0.*"}, of_sets),
    "Measure.cache": (CacheSettings(storage="bf16"), retrained),
    "CacheSettings.budget": (2**20, nothing),
    "CacheSettings.scratch": (Path("scratch"), nothing),
    "Model.call": (lambda model, x: -model(x), everything),
    "Model.head": ("multi", everything),
    "Model.classes": (range(3, -1, -1), everything),
    "Model.fresh": (net, everything),
    "Model.trainable": ("as given", everything),
    "Model.device": ("cpu", nothing),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_argument_moves_what_depends_on_it(name):
    value, depends = ALTERED[name]
    table, _, field = name.rpartition(".")
    changes = {"Measure": {}, "Model": {}, "CacheSettings": {}}
    inputs = {} if table else {name: value}
    if table == "CacheSettings":
        value = CacheSettings(**{field: value})
        table, field = "Measure", "cache"
    if table == "Measure":
        inputs["readouts"] = replace(INPUTS["readouts"], **{field: value})
    if table == "Model":
        inputs["models"] = probe.Model(MODELS, **{field: value})
    assert_only(planned(), planned(**inputs), depends)


READ = {"Model.network", "Model.orders", "Model.weights", "Model.load"}
"""What says how files are read is altered below, and so are these."""
APART = {"models", "offline", "readouts", "Model.output", "Measure.seeds"}
# Only with a scratch folder, which is altered.
WITH_SCRATCH = {"CacheSettings.room"}


def test_every_argument_is_altered():
    names = {*signature(probe.analyze).parameters}
    for table in (probe.Model, probe.Measure, CacheSettings):
        names |= {f"{table.__name__}.{field.name}" for field in fields(table)}
    assert names - ALTERED.keys() == READ | APART | WITH_SCRATCH | {
        "CacheSettings.storage"
    }


def test_what_is_read_from_files_moves_its_run(tmp_path):
    def save(order, tasks_seen, seed):
        state = net(seed).state_dict()
        averaged = net(seed + 1).state_dict()
        path = tmp_path / f"{order}-{tasks_seen}.pt"
        torch.save({"plain": state, "averaged": averaged}, path)

    def read(**changes):
        settings = {"weights": "plain", "orders": {"a": [1, 2], "b": [2, 1]}}
        files = str(tmp_path / "{order}-{task}.pt")
        model = probe.Model(files, fresh=net, **(settings | changes))
        return planned(models=model, untrained=None, offline=None)

    for seed, (order, tasks_seen) in enumerate(product("ab", (1, 2))):
        save(order, tasks_seen, 10 * seed)
    before = read()
    for change in (
        {"weights": "averaged"},
        {"load": lambda path: net(len(path.name))},
        {"orders": {"b": [1, 2], "a": [2, 1]}},
    ):
        assert_only(before, read(**change), lambda result: result.learner == "model")
    save("b", 1, 99)
    assert_only(before, read(), lambda result: result.run[:2] == ("model", (1, 0)))


def test_the_output_counts_and_the_number_of_retrainings_does_not():
    def call(model, x):
        return {"first": model(x), "second": -model(x)}

    first, second = (
        planned(models=probe.Model(MODELS, call=call, output=output))
        for output in ("first", "second")
    )
    assert_only(first, second, everything)
    once, twice = (
        planned(
            models=networks(1),
            offline=None,
            readouts=probe.Measure(readouts=READOUTS, seeds=seeds),
        )
        for seeds in (1, 2)
    )
    assert_only(once, twice, nothing)
