"""Whose a run directory is: everything that can change a study's result, written down once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from probe.errors import InputError
from probe.files import create, make_folder, replacing
from probe.regular import regular_file
from scenarios.learners.catalogue import LEARNERS
from scenarios.streams.task import Scenario
from scenarios.study.job import Job, jobs_of
from scenarios.study.quarantine import FOLDER, set_aside
from scenarios.study.sealing import opened, sealed
from scenarios.study.spec import Study
from scenarios.study.store import FORMAT, Store, tensor_hash

_NAME = "study.json"
_LONGEST = 100 * 2**20  # bytes: far above what a description can have
_FREE = {"name", "report"}  # what of a study can change no measurement
_UNCOMPARED = _FREE | {"sha256"}


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A study, the data it saw and the kind of device it ran on.

    tasks: name and classes of each task in base order; data: hash of all examples; device: `cpu`
    or `cuda`; torch: its version. Other devices and other versions do not give the same bits.
    """

    study: Study
    tasks: tuple[tuple[str, tuple[int, ...]], ...]
    data: str
    device: str
    torch: str

    def of(self, job: Job) -> str:
        """Return a hash of everything in a study that can change the results of a job.

        So not of what the study, its learners, orders and features are called, of what other jobs
        there are, nor of where the data come from: of what they are. Settings that are not used
        count all the same: the epochs of a learner that does not learn by epochs, the retraining's
        recipe and storage where no feature is retrained behind. The processor does not count, as
        else no two machines could share a study: two kinds of CPU may round differently. Of this
        package's own code only the format of its files counts.
        """
        study, kind = self.study, LEARNERS[job.kind]
        settings = study.learners[job.learner].model_dump(mode="json", exclude={"training"})
        record = {
            "format": FORMAT,
            "classes": [self.tasks[place][1] for place in job.places],
            "places": job.places,
            "data": self.data,
            "network": None if kind.own_features else study.network.name,
            "learner": settings,
            "training": asdict(study.recipe_of(job.learner)),
            "seed": job.seed,
            "device": self.device,
            "torch": self.torch,
        }
        if not kind.offline:
            retraining = {"retraining": asdict(study.retraining_recipe), "storage": study.storage}
            record |= retraining
        return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()

    def claim(self, root: Path) -> None:
        """Make the run directory this study's; raises InputError if it is another's.

        A description that is damaged is set aside and written anew, and so is one that is lost:
        every result says itself whose it is.
        """
        path, content = root / _NAME, self.content()
        if not os.path.lexists(path):
            make_folder(root)
            free = _may_be_claimed(root) or self._has_results(root)
            # Another process may have made it this study's a moment ago.
            if not free and not os.path.lexists(path):
                raise InputError(f"{root} is not empty and holds no study: choose another --out")
            if create(path, content):
                return
        try:
            there = _read(path)
        except InputError:
            raise
        except (OSError, ValueError, RecursionError):
            set_aside(root, path, "it is not a description as it was written")
        else:
            self._refuse_unless_own(root, there)
            if there == json.loads(content):
                return
        # What is reported may have changed, too.
        with replacing(path) as partial:
            partial.write_bytes(content)

    def _has_results(self, root: Path) -> bool:
        """Whether there are results, and all of them this study's: each says itself whose it is.

        One that is damaged says nothing.
        """
        jobs = {job.name: job for job in jobs_of(self.study, len(self.tasks))}
        names = [path.name for path in (root / "jobs").glob("*")]
        if not jobs.keys() >= set(names):
            return False
        owners = {(name, each) for name in names for each in Store(root, "").owners(name)}
        return owners != set() and owners == {(name, self.of(jobs[name])) for name, _ in owners}

    def _refuse_unless_own(self, root: Path, there: dict[str, Any]) -> None:
        own = json.loads(self.content())
        known = {key: there.get(key) for key in own if key not in _UNCOMPARED}
        differences = sorted(_differences(known, {key: own[key] for key in known}, ""))
        if differences:
            raise InputError(
                f"{root} belongs to another study: {'; '.join(differences)}; choose another "
                f"--out or remove that directory"
            )

    def content(self) -> bytes:
        """Return what the run directory's study.json holds."""
        record = {
            **self.study.model_dump(mode="json", include=_FREE),
            "format": FORMAT,
            "study": self.study.model_dump(mode="json", exclude=_FREE),
            "tasks": [{"name": name, "classes": list(classes)} for name, classes in self.tasks],
            "data": self.data,
            "device": self.device,
            "torch": self.torch,
        }
        return sealed(json.dumps(record).encode())


def _may_be_claimed(root: Path) -> bool:
    """Whether a folder without a description is empty, or is a run directory that has lost it."""
    if any((root / FOLDER).glob(f"{_NAME}*")):
        return True
    # A first run that was killed here has left part of a description, which is nobody's.
    return all(path.match(f"{_NAME}.*.tmp") for path in root.iterdir())


def identify(study: Study, scenario: Scenario, device: torch.device) -> Identity:
    """Return the identity of a study over its scenario, in base order."""
    return Identity(
        study=study,
        tasks=tuple((task.name, task.classes) for task in scenario.tasks),
        data=data_hash(scenario),
        device=device.type,
        torch=str(torch.__version__),
    )


def data_hash(scenario: Scenario) -> str:
    """Return a hash of all examples of a scenario, task by task."""
    halves: dict[str, torch.Tensor] = {}
    for k, task in enumerate(scenario.tasks):
        for name, half in (("train", task.train), ("test", task.test)):
            halves |= {f"{k}.{name}.x": half.x, f"{k}.{name}.y": half.y}
    return tensor_hash(halves)


def read_identity(root: Path) -> Identity:
    """Read back whose a run directory is; raises InputError if it holds no study."""
    path = root / _NAME
    try:
        record = _read(path)
        return Identity(
            study=Study.model_validate({**{k: record[k] for k in _FREE}, **record["study"]}),
            tasks=tuple((task["name"], tuple(task["classes"])) for task in record["tasks"]),
            data=record["data"],
            device=record["device"],
            torch=record["torch"],
        )
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{root} holds no study (no study.json): name the directory of a `probe run`"
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot read {path} ({error.strerror}): allow reading, or start its `probe run` again"
        ) from None
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path} is damaged: start its `probe run` again, which writes it anew"
        ) from None


def _read(path: Path) -> dict[str, Any]:
    """Return a description; raises ValueError for one that is not as it was written."""
    with regular_file(path, links=False) as file:
        content = file.read(_LONGEST)
    record = json.loads(content)
    if not isinstance(record, dict):
        raise ValueError("it is no description")
    # Earlier formats had no hash of themselves.
    if "sha256" in record or record.get("format") == FORMAT:
        opened(content)
    if record.get("format") != FORMAT:
        raise InputError(
            f"{path} has format {record.get('format')}, this version reads {FORMAT}: choose "
            f"another --out"
        )
    return record


def _differences(there: Any, here: Any, path: str) -> Iterator[str]:
    """Yield `path is A there and B here` for every leaf that differs."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in there.keys() | here.keys():
            at = f"{path}.{key}" if path else str(key)
            yield from _differences(there.get(key), here.get(key), at.removeprefix("study."))
    elif there != here:
        yield f"{path} is {_short(there)} there and {_short(here)} here"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
