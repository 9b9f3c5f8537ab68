"""Whose a run directory is: everything that can change a study's result, written down once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from probe.errors import InputError
from probe.files import make_folder, replacing, sweep
from scenarios.study.spec import Study
from scenarios.study.store import FORMAT, tensor_hash
from scenarios.task import Scenario

_FREE = {"name", "report"}  # what of a study can change no measurement


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

    @property
    def hash(self) -> str:
        """A hash of everything that can change a result; the study's name and report cannot."""
        return hashlib.sha256(json.dumps(self._record(), sort_keys=True).encode()).hexdigest()

    def claim(self, root: Path) -> None:
        """Make the run directory this study's; raises InputError if it is another's."""
        if (root / "study.json").exists():
            differences = sorted(_differences(read_identity(root)._record(), self._record(), ""))
            if differences:
                raise InputError(
                    f"{root} belongs to another study: {'; '.join(differences)}; choose another "
                    f"--out or remove that directory"
                )
        else:
            make_folder(root)
            # A first run that was killed here has left part of a study.json, which is nobody's.
            if not all(path.match("study.json.*.tmp") for path in root.iterdir()):
                raise InputError(f"{root} is not empty and holds no study: choose another --out")
        self._write(root)
        sweep(root)

    def _write(self, root: Path) -> None:
        # Also over an earlier one: what is reported may have changed.
        free = self.study.model_dump(mode="json", include=_FREE)
        record = {**free, **self._record()}
        with replacing(root / "study.json") as partial:
            partial.write_text(json.dumps(record, indent=2), encoding="utf-8")

    def _record(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "study": self.study.model_dump(mode="json", exclude=_FREE),
            "tasks": [{"name": name, "classes": list(classes)} for name, classes in self.tasks],
            "data": self.data,
            "device": self.device,
            "torch": self.torch,
        }


def identify(study: Study, scenario: Scenario, device: torch.device) -> Identity:
    """Return the identity of a study over its scenario, in base order."""
    halves: dict[str, torch.Tensor] = {}
    for k, task in enumerate(scenario.tasks):
        for name, half in (("train", task.train), ("test", task.test)):
            halves |= {f"{k}.{name}.x": half.x, f"{k}.{name}.y": half.y}
    return Identity(
        study=study,
        tasks=tuple((task.name, task.classes) for task in scenario.tasks),
        data=tensor_hash(halves),
        device=device.type,
        torch=str(torch.__version__),
    )


def read_identity(root: Path) -> Identity:
    """Read back whose a run directory is; raises InputError if it holds no study."""
    path = root / "study.json"
    try:
        record = json.loads(path.read_bytes())
        if record["format"] != FORMAT:
            raise InputError(
                f"{path} has format {record['format']}, this version reads {FORMAT}: choose "
                f"another --out"
            )
        return Identity(
            study=Study.model_validate({**{k: record[k] for k in _FREE}, **record["study"]}),
            tasks=tuple((task["name"], tuple(task["classes"])) for task in record["tasks"]),
            data=record["data"],
            device=record["device"],
            torch=record["torch"],
        )
    except OSError as error:
        raise InputError(
            f"{root} holds no study (no study.json: {error.strerror}): name the directory of a "
            f"`probe run`"
        ) from None
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, ValidationError):
        raise InputError(
            f"{path} is damaged: put back a copy of it, or choose another --out"
        ) from None


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
