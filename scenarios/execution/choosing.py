"""Which executor a study is run on, with which devices.

Here the flags `--executor`, `--workers`, `--device` and Ray's become an executor. Without
`--executor` it is this process where one worker is wanted, and a pool where there are more.
"""

from __future__ import annotations

import os

import torch

from probe.errors import InputError
from scenarios.execution.cluster import Cluster
from scenarios.execution.executor import Executor, Inline
from scenarios.execution.pool import Pool
from scenarios.options import RunOptions


def side_by_side(options: RunOptions, device: torch.device) -> int:
    """Return how many jobs share this machine's memory.

    As many as `--workers` says, or else one for each core that this process may use or, on GPUs, as
    many as there is room for on all of them.
    """
    if options.executor == "inline":
        return 1
    share = options.gpus_per_job or 1
    room = _cores() if device.type == "cpu" else len(_devices(device)) / share
    return options.workers or int(room)


def executor_for(options: RunOptions, device: torch.device) -> Executor:
    """Return the executor; jobs compute on `device`, `cuda` standing for all that there are.

    A pool's workers take the GPUs in turn, several sharing one if there are more workers. Raises
    InputError if the executor cannot be had, or not with this device.
    """
    workers = side_by_side(options, device)
    if options.executor == "ray":
        share = _share_of_gpu(options, device)
        return Cluster(options.ray_address, options.workers, share)
    if options.executor == "inline" or (options.executor is None and workers == 1):
        return Inline()
    devices = _devices(device)
    return Pool([devices[k % len(devices)] for k in range(workers)])


def _share_of_gpu(options: RunOptions, device: torch.device) -> float:
    """Return how much of a GPU Ray is to give to a job, from 0 to 1.

    Raises InputError for one GPU by its number, which only Ray can choose, and for a share of a GPU
    where jobs compute on the CPU.
    """
    if device.type == "cuda" and device.index is None:
        return options.gpus_per_job or 1.0
    if device.type == "cuda":
        raise InputError(f"Ray deals out the GPUs: use --device cuda, not {device}")
    if options.gpus_per_job is not None:
        raise InputError("--gpus-per-job is for jobs on GPUs: add --device cuda, or leave it out")
    return 0.0


def _devices(device: torch.device) -> list[str]:
    """Return the devices that workers are given in turn."""
    if device.type == "cuda" and device.index is None:
        # Without a GPU here it may be that of another machine.
        return [f"cuda:{k}" for k in range(torch.cuda.device_count())] or ["cuda"]
    return [str(device)]


def _cores() -> int:
    """Return how many processor cores this process may use."""
    # Only Linux says which cores this process may use.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
