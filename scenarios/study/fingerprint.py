"""The fingerprint of a job: a hash of everything that can change its result.

A job's results lie in a folder named after its fingerprint (`scenarios.study.kept.store`). So a
study can grow: with one more seed, learner or order the other jobs keep their fingerprints, and
with them their results. If anything that counts changes, the fingerprint changes, the job is done
anew in another folder, and the older results are kept but not shown. Which value made the
difference is what `differences` says, from the records that both folders keep.

What counts is in `Setup.record`: data, classes, task order, network, the learner's settings,
recipes, seed, kind of device, torch's version and RESULTS_VERSION. Names and the number of other
jobs do not count, as they cannot change a number. The code as such does not count either: almost
every commit would else make a study begin again (see `scenarios.study.code`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from probe.batch import Value
from probe.by_layer.probing import recorded
from probe.errors import InputError
from scenarios.learners.catalog import LEARNERS
from scenarios.own_code import REGISTRY, source_of
from scenarios.streams.task import Scenario
from scenarios.study.jobs import Job
from scenarios.study.spec import Study
from scenarios.user_model import build_model

RESULTS_VERSION = 1
"""The version of our results: one more with every change of the code that changes a measurement.

The golden counts of every learner say when: `tests/scenarios/study/test_results_version.py`. With
a new version all fingerprints change, and every study computes all of its jobs anew.
"""

Record = Mapping[str, Any]
"""What a fingerprint is the hash of: a tree of values that JSON has, with names as keys."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A study, the data that it sees and the software and kind of device that it runs on.

    tasks: name and classes of each of the T tasks in base order; data: hash of all examples, see
    `data_hash`; device: `cpu` or `cuda`; torch: its version. Other devices and other versions do
    not give the same bits; sources: hashes of the files of a user's own networks and learners, by
    kind and name, see `scenarios.own_code`. It is all that is needed to find the results of a
    study: the data themselves are not, so tables and status need no data folder.
    """

    study: Study
    tasks: tuple[tuple[str, tuple[int, ...]], ...]
    data: str
    device: str
    torch: str
    sources: Mapping[str, str] = field(default_factory=dict)

    def record(self, job: Job) -> dict[str, Any]:
        """Return everything in a study that can change the results of a job.

        So not what the study, its learners, orders and features are called, which other jobs and
        features there are, nor where the data come from: only what they are. Settings that are not
        used count all the same: the epochs of a learner that does not learn by epochs. The
        processor does not count, as else no two machines could share a study: two kinds of CPU may
        round differently. Of this package's own code only RESULTS_VERSION counts.
        """
        study, kind = self.study, LEARNERS[job.kind]
        record: dict[str, Any] = {
            "version": RESULTS_VERSION,
            "data": self.data,
            # In executed order, as the tasks: what an order is called does not count.
            "classes": [list(self.tasks[task][1]) for task in job.tasks],
            "tasks": list(job.tasks),
            # A learner that brings its own network does not see the study's.
            "network": None if kind.own_features else self._network(),
            # Without its recipe: `training` is what comes of that and the study's.
            "learner": self._learner(job),
            "training": recorded(study.recipe_of(job.learner)),
            "seed": job.seed,
            "device": self.device,
            "torch": self.torch,
        }
        if not kind.offline:
            # Offline nothing is retrained: its results stay when the retraining alone is changed.
            record["retraining"] = recorded(study.retraining_recipe)
            record["storage"] = study.storage
        return record

    def _network(self) -> object:
        """Return what tells the study's network from others: of a user's own, its source."""
        name = self.study.network.name
        source = self.sources.get(f"network {name}")
        return name if source is None else {"own": name, "source": source}

    def _learner(self, job: Job) -> dict[str, Any]:
        """Return what tells a job's learner from others: of a user's own, its source too."""
        recorded = self.study.everyone[job.learner].recorded(job.order, job.seed)
        source = self.sources.get(f"learner {job.kind}")
        return recorded if source is None else {**recorded, "source": source}


def fingerprint(record: Record) -> str:
    """Return the SHA-256 of what can change a result, as 64 hexadecimal digits.

    The order of the record's keys does not matter:

    >>> fingerprint({"seed": 0, "data": "x"}) == fingerprint({"data": "x", "seed": 0})
    True
    """
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def setup_of(study: Study, scenario: Scenario, device: torch.device) -> Setup:
    """Return a study over its scenario, in base order, on a device.

    scenario: the study's, loaded: all its examples are hashed here, which takes a moment for large
    data sets; device: of any index, as only its type counts.
    """
    return Setup(
        study=study,
        tasks=tuple((task.name, task.classes) for task in scenario.tasks),
        data=data_hash(scenario),
        device=device.type,
        torch=str(torch.__version__),
        sources=_steady_sources(study),
    )


def _steady_sources(study: Study) -> dict[str, str]:
    """Return `sources_of` a study; raises InputError if a network is another one every time."""
    found = sources_of(study)
    if found != sources_of(study):
        raise InputError(
            f"network {study.network.name} has other weights each time though all generators are "
            f"seeded: draw them with torch, numpy or random, without a seed of the time"
        )
    return found


def sources_of(study: Study) -> dict[str, str]:
    """Return hashes of a study's own network and learners, by kind and name.

    Of their sources and, as a factory may load weights from elsewhere, of the weights that the
    network's draws from a fixed seed.
    """
    named = [("learner", settings.kind) for settings in study.learners.values()]
    found = {f"{kind} {name}": source_of(kind, name) for kind, name in named}
    known = {name: source for name, source in found.items() if source is not None}
    own = REGISTRY.networks.get(study.network.name)
    if own is not None:
        drawn = tensor_hash(build_model(own.name, own.build).state_dict())
        source = source_of("network", own.name) or ""
        both = hashlib.sha256(f"{source} {drawn}".encode()).hexdigest()
        known[f"network {own.name}"] = both
    return known


def data_hash(scenario: Scenario) -> str:
    """Return a hash of all examples of a scenario, task by task: inputs and labels, train and test.

    The order of the examples counts, as mini-batches are drawn by their index; the names of the
    tasks do not. Returns 64 hexadecimal digits.
    """
    halves: dict[str, Tensor] = {}
    for k, task in enumerate(scenario.tasks):
        for name, half in (("train", task.train), ("test", task.test)):
            halves |= {f"{k}.{name}.{part}": each for part, each in _parts(half.x)}
            halves[f"{k}.{name}.y"] = half.y
    return tensor_hash(halves)


def _parts(x: Value) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of inputs, each with a name."""
    if isinstance(x, Mapping):
        yield from ((f"x.{name}", each) for name, each in x.items())
    elif isinstance(x, tuple):
        yield from ((f"x.{at}", each) for at, each in enumerate(x))
    else:
        yield "x", x


def tensor_hash(tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of named tensors of any shapes: names, types, shapes and every byte.

    The order in which they are given and the device that they are on do not matter.

    >>> tensor_hash({"x": torch.zeros(2)}) == tensor_hash({"x": torch.zeros(2, 1)})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        # Without type and shape, tensors of the same bytes would have the same hash.
        digest.update(f"{name!r} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def differences(there: Any, here: Any, path: str = "") -> Iterator[str]:
    """Yield `path is A there and B here` for every value of two records that differs.

    there, here: two trees of JSON values; path: where in the whole record both of them are.
    Mappings are compared key by key in sorted order, all else as a whole. A key that one of them
    lacks counts as null.

    >>> list(differences({"training": {"epochs": 1}}, {"training": {"epochs": 2}}))
    ['training.epochs is 1 there and 2 here']
    """
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for key in sorted(there.keys() | here.keys()):
            below = f"{path}.{key}" if path else str(key)
            yield from differences(there.get(key), here.get(key), below)
    elif there != here:
        yield f"{path} is {_short(there)} there and {_short(here)} here"


def _short(value: Any) -> str:
    """Return a value as JSON of 60 characters at most."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
