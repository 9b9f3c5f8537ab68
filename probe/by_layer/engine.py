"""The engine: networks of one run go in, stored predictions come out.

`measure` takes the networks of a job after each number of tasks learned (`Source`:
learned now, read from files, or in memory), arranges what is missing of their
measurements in passes (`schedule`), carries these out (`passes`), and stores each
measurement as soon as it is made (`Results`: a run directory or memory). It is
independent of processes, locks, learners and files.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import nn

from probe.by_layer.jobs import Job, keys_of
from probe.by_layer.measurement import Key
from probe.by_layer.networks import Source
from probe.by_layer.pass_context import PassContext
from probe.by_layer.passes import run_pass
from probe.by_layer.plan import Plan
from probe.by_layer.schedule import schedule
from probe.by_layer.store import Results
from probe.errors import located
from probe.extensions import ReadoutEntry
from probe.metrics.murata import RETRAIN
from probe.readouts.pooling import Pooling
from probe.readouts.readout import Linear, Readout
from probe.seeding import PROCESS
from probe.stored_names import ReadoutName
from probe.tasks import Scenario
from probe.training.fresh_weights import Factory
from probe.values.allocation import CacheSettings


def measure(
    source: Source,
    job: Job,
    results: Results,
    cache: CacheSettings,
    offline: Factory,
) -> Iterator[Key]:
    """Make a job's missing measurements, and yield the key of each as it is stored.

    All randomness comes from named streams of the job's seed, and torch runs on one
    thread. The results are therefore bit for bit the same on any number of cores, and
    however often the job is interrupted.

    Args:
        source: The networks, and the plan of their measurements.
        job: One job of the plan; `jobs.keys_of` lists its keys.
        results: The store of the measurements, and of the networks that are trained.
        cache: Memory and disk for features' values.
        offline: A function that returns the offline network of the same seed, to
            compare the job's last network with.

    Yields:
        The key of each measurement, once it is stored.

    Raises:
        InputError: A network diverges; the message names the job.
    """
    networks = source.networks(job, results)
    with located(str(job)), one_thread():
        plan = source.plan
        readouts = _readouts_of(plan, networks.readouts)
        context = PassContext(
            plan=plan,
            job=job,
            networks=networks,
            readouts=readouts,
            cache=cache,
            offline=offline,
        )
        finished = set(results.measurements())
        missing = [key for key in keys_of(plan, job) if key not in finished]
        passes = schedule(plan, job, missing, _poolings_of(readouts))
        start = time.perf_counter()
        for tasks_seen, passes_of_network in passes.items():
            network = networks.after(tasks_seen)
            with located(f"after {_last_task(networks.scenario, job, tasks_seen)}"):
                for work in passes_of_network:
                    for key, measurement in run_pass(context, network, work):
                        begun = start
                        start = time.perf_counter()
                        results.write(key, replace(measurement, seconds=start - begun))
                        yield key
        results.finish()


def _readouts_of(plan: Plan, entries: Mapping[str, ReadoutEntry]) -> dict[str, Readout]:
    """Return the readouts of a plan that are fitted to features, by name."""
    readouts: dict[str, Readout] = {}
    for name, planned in plan.readouts.items():
        if name != RETRAIN:
            entry = entries[ReadoutName.parse(name).base]
            readouts[name] = entry.readout(**planned.settings)
    return readouts


def _poolings_of(readouts: Mapping[str, Readout]) -> dict[str, Pooling]:
    """Return the poolings of linear readouts that are not the default, by the readout's name."""
    return {
        name: readout.pooling
        for name, readout in readouts.items()
        if isinstance(readout, Linear) and readout.pooling != Pooling()
    }


def offline_network(source: Source, job: Job, results: Results) -> nn.Module:
    """Return the network of an offline job, training it first if necessary.

    Args:
        source: The source of the networks.
        job: The offline job.
        results: The store of its results.

    Returns:
        The network.
    """
    with located(str(job)), one_thread():
        return source.networks(job, results).after(job.last).model


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread within the block, in which only one thread is at a time."""
    with PROCESS:
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
    return (
        f"task {scenario.tasks[tasks_seen - 1].name} ({tasks_seen} of "
        f"{len(scenario.tasks)})"
    )
