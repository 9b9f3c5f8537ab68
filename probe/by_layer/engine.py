"""The engine: networks of one run go in, stored counts come out.

`measure` takes the networks of a job after each number of tasks learned (`Source`: learned now,
read from files, or in memory), tests them, trains the readouts downstream of their features
(`probe.by_layer.reader`), and stores each measurement as soon as it is made (`Results`: a run
directory or memory). It is independent of processes, locks, learners and files.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from probe.by_layer.jobs import Job, readings_of
from probe.by_layer.networks import Source
from probe.by_layer.reader import Offline, Reader
from probe.by_layer.store import Results
from probe.errors import located
from probe.tasks import Scenario
from probe.values.allocation import CacheSettings


def measure(
    source: Source, job: Job, results: Results, cache: CacheSettings, offline: Offline
) -> Iterator[str]:
    """Make a job's missing measurements, and yield the name of each as it is stored.

    cache: memory and disk for features' values; offline: returns the offline network of the same
    seed, where the job's last network is compared with it. See `jobs.parts_of` for the names. All
    randomness comes from named streams of the job's seed, and torch has one thread meanwhile: the
    results are the same bits however often the job was stopped and on any number of cores. Raises
    InputError, naming the job, for networks that diverge, and whatever `results` raises.
    """
    networks = source.networks(job, results)
    with located(str(job)), one_thread():
        reader = Reader(plan=source.plan, job=job, networks=networks, cache=cache, offline=offline)
        readings = readings_of(source.plan, job)
        for tasks_seen in job.steps:
            name = f"step-{tasks_seen}"
            own = [each for each in readings if each.tasks_seen == tasks_seen]
            left = [each for each in own if results.read(each.part) is None]
            untested = results.read(name) is None
            if not (left or untested):
                continue
            network = networks.after(tasks_seen)
            with located(f"after {_last_task(networks.scenario, job, tasks_seen)}"):
                if untested:
                    results.write(name, network.evaluated())
                    yield name
                for reading, measured in reader.read(network, left):
                    results.write(reading.part, measured)
                    yield reading.part


def offline_network(source: Source, job: Job, results: Results) -> nn.Module:
    """Return the network of an offline job, trained here unless there is one already."""
    with located(str(job)), one_thread():
        return source.networks(job, results).after(job.last).model


@contextmanager
def one_thread() -> Iterator[None]:
    """Lend torch one thread."""
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
