"""The engine: networks of one run go in, stored predictions come out.

`measure` takes the networks of a job after each number of tasks learned (`Source`: learned now,
read from files, or in memory), tests them, trains the readouts downstream of their features
(`probe.by_layer.layer_probe`), and stores each measurement as soon as it is made (`Results`: a run
directory or memory). It is independent of processes, locks, learners and files.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import nn

from probe.by_layer.jobs import Job, planned_measurements
from probe.by_layer.layer_probe import LayerProbe, OfflineNetwork
from probe.by_layer.measurement import Key, Measurement
from probe.by_layer.networks import Source
from probe.by_layer.store import Results
from probe.errors import located
from probe.tasks import Scenario
from probe.values.allocation import CacheSettings


def measure(
    source: Source, job: Job, results: Results, cache: CacheSettings, offline: OfflineNetwork
) -> Iterator[Key]:
    """Make a job's missing measurements, and yield the key of each as it is stored.

    All randomness comes from named streams of the job's seed, and torch has one thread meanwhile:
    the results are the same bits however often the job was stopped and on any number of cores.

    Args:
        source: The networks, and the plan of their measurements.
        job: One job of the plan; `jobs.keys_of` lists its keys.
        results: The store of the measurements, and of the networks that are trained.
        cache: Memory and disk for features' values.
        offline: Returns the offline network of the same seed, where the job's last network is
            compared with it.

    Raises:
        InputError: A network diverges; the message names the job.
    """
    networks = source.networks(job, results)
    with located(str(job)), one_thread():
        plan = source.plan
        probe = LayerProbe(plan=plan, job=job, networks=networks, cache=cache, offline=offline)
        planned = planned_measurements(plan, job)
        finished, start = set(results.measurements()), time.perf_counter()

        def store(key: Key, measurement: Measurement) -> Key:
            nonlocal start
            begun, start = start, time.perf_counter()
            results.write(key, replace(measurement, seconds=start - begun))
            return key

        for tasks_seen in job.steps:
            output = Key(tasks_seen)
            missing = [p for p in planned if p.tasks_seen == tasks_seen and p.key not in finished]
            if output in finished and not missing:
                continue
            network = networks.after(tasks_seen)
            with located(f"after {_last_task(networks.scenario, job, tasks_seen)}"):
                if output not in finished:
                    yield store(output, network.evaluate())
                for entry, measurement in probe.measure(network, missing):
                    yield store(entry.key, measurement)
        results.finish()


def offline_network(source: Source, job: Job, results: Results) -> nn.Module:
    """Return the network of an offline job, trained here unless there is one already."""
    with located(str(job)), one_thread():
        return source.networks(job, results).after(job.last).model


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _last_task(scenario: Scenario, job: Job, tasks_seen: int) -> str:
    """Return the name of the last task learned, for error messages."""
    if not tasks_seen:
        return "no task"
    if job.offline or job.without:
        return "all tasks"
    return f"task {scenario.tasks[tasks_seen - 1].name} ({tasks_seen} of {len(scenario.tasks)})"
