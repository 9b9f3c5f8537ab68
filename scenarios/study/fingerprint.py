"""The fingerprint of a job: a hash of everything that can change its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from scenarios.learners.catalogue import LEARNERS
from scenarios.streams.task import Scenario
from scenarios.study.jobs import Job
from scenarios.study.spec import Study

RESULTS_VERSION = 1
"""The version of our results: one more with every change of the code that changes a measurement.

The golden counts of every learner say when: `tests/scenarios/study/test_results_version.py`.
"""

Record = Mapping[str, Any]
"""What a fingerprint is the hash of, as JSON."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A study, the data that it sees and the software and kind of device that it runs on.

    tasks: name and classes of each task in base order; data: hash of all examples; device: `cpu`
    or `cuda`; torch: its version. Other devices and other versions do not give the same bits.
    """

    study: Study
    tasks: tuple[tuple[str, tuple[int, ...]], ...]
    data: str
    device: str
    torch: str

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
            "classes": [list(self.tasks[task][1]) for task in job.tasks],
            "tasks": list(job.tasks),
            "network": None if kind.own_features else study.network.name,
            "learner": study.learners[job.learner].model_dump(mode="json", exclude={"training"}),
            "training": asdict(study.recipe_of(job.learner)),
            "seed": job.seed,
            "device": self.device,
            "torch": self.torch,
        }
        if not kind.offline:
            record["retraining"] = asdict(study.retraining_recipe)
            record["storage"] = study.storage
        return record


def fingerprint(record: Record) -> str:
    """Return the SHA-256 of what can change a result, as 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def setup_of(study: Study, scenario: Scenario, device: torch.device) -> Setup:
    """Return a study over its scenario, in base order, on a device."""
    return Setup(
        study=study,
        tasks=tuple((task.name, task.classes) for task in scenario.tasks),
        data=data_hash(scenario),
        device=device.type,
        torch=str(torch.__version__),
    )


def data_hash(scenario: Scenario) -> str:
    """Return a hash of all examples of a scenario, task by task."""
    halves: dict[str, Tensor] = {}
    for k, task in enumerate(scenario.tasks):
        for name, half in (("train", task.train), ("test", task.test)):
            halves |= {f"{k}.{name}.x": half.x, f"{k}.{name}.y": half.y}
    return tensor_hash(halves)


def tensor_hash(tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of named tensors of any shapes: names, types, shapes and every byte."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name!r} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def differences(there: Any, here: Any, path: str = "") -> Iterator[str]:
    """Yield `path is A there and B here` for every value of two records that differs.

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
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
