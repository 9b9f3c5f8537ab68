"""The executor of a study and its devices, from the flags.

Without `--executor`, one worker runs in this process, and several run in a pool.
"""

from functools import partial

import torch

from probe.errors import InputError
from scenarios.environment import cores
from scenarios.execution.cluster import cluster
from scenarios.execution.pool import pool
from scenarios.execution.schedule import Executor, inline
from scenarios.options import RunOptions


def side_by_side(options: RunOptions, device: torch.device) -> int:
    """Return the number of jobs that share the memory of this machine.

    The number is `--workers`; by default it is one job for each core that this process
    may use or, on GPUs, as many as fit on all of them.

    Args:
        options: The flags of `probe run`.
        device: The device of the jobs.

    Returns:
        The number of jobs.
    """
    if options.executor == "inline":
        return 1
    if options.workers:
        return options.workers
    if device.type == "cpu":
        return cores()
    return int(len(_devices(device)) / (options.gpus_per_job or 1))


def executor_for(options: RunOptions, device: torch.device) -> Executor:
    """Return the executor that the flags ask for.

    The workers of a pool take the GPUs in turn, and share them if there are more
    workers.

    Args:
        options: The flags of `probe run`.
        device: The device of the jobs; `cuda` stands for all GPUs.

    Returns:
        The executor.

    Raises:
        InputError: The executor is not available, or cannot use this device.
    """
    if options.executor == "ray":
        if device.type == "cuda" and device.index is not None:
            raise InputError(f"Ray assigns the GPUs: use --device cuda, not {device}")
        if device.type == "cpu" and options.gpus_per_job is not None:
            raise InputError(
                "--gpus-per-job is for GPUs: add --device cuda, or leave it out"
            )
        share = 0.0 if device.type == "cpu" else options.gpus_per_job or 1.0
        return cluster(options.ray_address, options.workers, share)
    workers = side_by_side(options, device)
    if options.executor == "inline" or (options.executor is None and workers == 1):
        return inline
    devices = _devices(device)
    return partial(pool, [devices[k % len(devices)] for k in range(workers)])


def _devices(device: torch.device) -> list[str]:
    """Return the devices that workers take in turn."""
    if device.type == "cuda" and device.index is None:
        # Without a GPU on this machine, jobs may run on one that has some.
        return [f"cuda:{k}" for k in range(torch.cuda.device_count())] or ["cuda"]
    return [str(device)]
