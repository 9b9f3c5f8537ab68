"""Which executor a study is to be run on, with which devices."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import torch

from probe.errors import InputError, unknown
from scenarios.execution.cluster import Cluster
from scenarios.execution.executor import Executor
from scenarios.execution.inline import Inline
from scenarios.execution.pool import Pool

EXECUTORS = ("inline", "pool", "ray")

_ADDRESS = r"auto|(?:ray://)?[^/\s]+:[0-9]{1,5}"
_LEAST = 0.001  # of a GPU; Ray counts in ten thousandths
_MOST = 10_000  # workers: more is a slip of the pen


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What was asked for; None = not said.

    workers: jobs side by side; address: of a Ray cluster; gpus: the share of a GPU that a job takes
    there. Raises InputError for what does not fit together.
    """

    executor: str | None = None
    workers: int | None = None
    address: str | None = None
    gpus: float | None = None

    def __post_init__(self) -> None:
        if self.executor is not None and self.executor not in EXECUTORS:
            raise unknown("executor", self.executor, EXECUTORS)
        if self.workers is not None and not 1 <= self.workers <= _MOST:
            bound = "1 or more" if self.workers < 1 else f"{_MOST} or less"
            raise InputError(f"--workers must be {bound}, got {self.workers}")
        if self.executor == "inline" and self.workers not in (None, 1):
            raise InputError(
                f"--executor inline is this process alone, got --workers {self.workers}: use "
                f"--executor pool"
            )
        if self.executor != "ray":
            for flag, value in (("--ray-address", self.address), ("--gpus-per-job", self.gpus)):
                if value is not None:
                    raise InputError(f"{flag} is for Ray: add --executor ray, or leave it out")
        if self.address is not None and not re.fullmatch(_ADDRESS, self.address):
            raise InputError(
                f"--ray-address expects HOST:PORT, ray://HOST:PORT or auto, got {self.address!r}"
            )
        if self.gpus is not None and not _LEAST <= self.gpus <= 1:
            raise InputError(
                f"--gpus-per-job is a share of one GPU, from {_LEAST} to 1, got {self.gpus}"
            )

    @property
    def remote(self) -> bool:
        """Whether jobs may be done on machines with other devices than this one has."""
        return self.executor == "ray" and self.address is not None

    def side_by_side(self, device: torch.device) -> int:
        """How many jobs share this machine's memory."""
        if self.executor == "inline":
            return 1
        room = _cores() if device.type == "cpu" else len(_dealt(device)) / (self.gpus or 1)
        return self.workers or int(room)

    def executor_on(self, device: torch.device) -> Executor:
        """Return the executor; jobs compute on `device`, `cuda` standing for all that there are.

        Raises InputError if the executor cannot be had, or not with this device.
        """
        workers = self.side_by_side(device)
        if self.executor == "ray":
            return Cluster(self.address, self.workers, self._share_of(device))
        if self.executor == "inline" or (self.executor is None and workers == 1):
            return Inline()
        devices = _dealt(device)
        return Pool([devices[k % len(devices)] for k in range(workers)])

    def _share_of(self, device: torch.device) -> float:
        """Return how much of a GPU Ray is to give to a job."""
        if device.type == "cuda" and device.index is None:
            return self.gpus or 1.0
        if device.type == "cuda":
            raise InputError(f"Ray deals out the GPUs: use --device cuda, not {device}")
        if self.gpus is not None:
            raise InputError(
                "--gpus-per-job is for jobs on GPUs: add --device cuda, or leave it out"
            )
        return 0.0


def _dealt(device: torch.device) -> list[str]:
    if device.type == "cuda" and device.index is None:
        return [f"cuda:{k}" for k in range(torch.cuda.device_count())] or ["cuda"]
    return [str(device)]


def _cores() -> int:
    # Only Linux says which cores this process may use.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
