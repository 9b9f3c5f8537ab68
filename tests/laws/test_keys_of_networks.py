"""The law of keys for networks that were trained elsewhere: see `tests.laws.test_keys`."""

from dataclasses import replace
from functools import cache, partial
from inspect import signature

import pytest
import torch

import probe
from probe.by_layer.source_plan import plan_by_reading
from probe.readouts.readout import Linear
from probe.seeding import stream
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
from tests.probe.by_layer.nets import INNER, TASKS, fresh


class Planned(Exception):
    """The plan of an analysis is made."""


def examples(seed):
    return torch.rand(20, 64, generator=stream(seed, "x")), torch.arange(20) % 10


def scaled(sign, model, x):
    logits = sign * model(x)
    return {"logits": logits, "negative": -logits}


SEEDS = (0, 5)
MODELS = {seed: {t: fresh(10 * seed + t) for t in (1, 2, 3)} for seed in SEEDS}
OFFLINE = {seed: fresh(10 * seed + 4) for seed in SEEDS}
MODEL = probe.Model(MODELS, call=partial(scaled, 1), output="logits")
MEASURE = probe.Measure(readouts=["retrain", "linear", "ncm"], inherited=True)
INPUTS = {
    "models": MODEL,
    "train": examples(1),
    "test": examples(2),
    "tasks": TASKS,
    "features": INNER,
    "untrained": fresh(),
    "offline": OFFLINE,
    "readouts": MEASURE,
    "recipe": probe.Recipe(),
}


def planned(**inputs):
    """Return the addresses of the results of an analysis."""

    def stop(description):
        raise Planned(plan_by_reading(description))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("probe.results.analyze._read_and_plan", stop)
        with pytest.raises(Planned) as stopped:
            probe.analyze(**(INPUTS | inputs))
    return addresses(stopped.value.args[0])


@cache
def unchanged():
    return planned()


def of_linear(result):
    return result.readout.planned == "linear"


CHANGES = {
    probe.analyze: {
        "train": (examples(3), everything),
        "test": (examples(3), everything),
        "tasks": (TASKS[1:] + TASKS[:1], everything),
        "features": (["hidden1", *INNER], of_blocks),
        "untrained": (fresh(99), everything),
        "recipe": (probe.Recipe(epochs=9), everything),
        "out": ("run", nothing),
    },
    probe.Model: {
        "call": (partial(scaled, -1), everything),
        "output": ("negative", everything),
        "head": ("multi", everything),
        "classes": (range(9, -1, -1), everything),
        "fresh": (fresh, everything),
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
        "blocks": ({"first": "hidden1.*"}, of_sets),
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
    before = unchanged()
    for name, (value, depends) in CHANGES[table].items():
        inputs = {name: value}
        if table is not probe.analyze:
            where = "models" if table is probe.Model else "readouts"
            inputs = {where: replace(INPUTS[where], **inputs)}
        assert_only(before, planned(**inputs), depends)


def test_networks_move_their_run_and_what_is_compared_with_them():
    before = unchanged()
    compared = of_learners({"offline"})
    for seed, tasks_seen in zip(SEEDS, (1, 3), strict=True):
        run = MODELS[seed] | {tasks_seen: fresh(99)}
        after = planned(models=replace(MODEL, network=MODELS | {seed: run}))
        here = {"learner": "model", "seed": seed}
        assert_only(before, after, lambda r, here=here: here.items() <= vars(r).items())
        after = planned(offline=OFFLINE | {seed: fresh(99)})
        assert_only(before, after, lambda r, seed=seed: r.seed == seed and compared(r))


def test_files_move_the_run_of_their_order(tmp_path):
    def read():
        files = str(tmp_path / "{order}-{task}.pt")
        model = probe.Model(files, fresh=fresh, orders={"a": [1, 2, 3], "b": [2, 1, 3]})
        return planned(models=model, untrained=None, offline=None)

    for seed, name in enumerate(("a-1", "a-3", "b-1", "b-3")):
        torch.save(fresh(seed).state_dict(), tmp_path / f"{name}.pt")
    before = read()
    torch.save(fresh(99).state_dict(), tmp_path / "b-1.pt")
    assert_only(before, read(), lambda result: result.run[:2] == ("model", (1, 0, 2)))
