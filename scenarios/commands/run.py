"""A study from its name to its pictures: what `probe run` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from figures.build import build
from probe.errors import NotWritten
from probe.examples import Examples
from probe.files import sweep, sweep_all
from probe.retrain import SAMPLE, cache_plan
from probe.tables.run_directory import TABLES, TIMES
from probe.values.placement import CacheSettings, Placed
from scenarios.commands.failures import show_ends, show_plan
from scenarios.commands.progress import show_progress
from scenarios.commands.results import show_outcome
from scenarios.data.datasets import Location
from scenarios.device import device_named
from scenarios.execution.choosing import Choice
from scenarios.execution.claims import Lost
from scenarios.execution.executor import Executor
from scenarios.execution.schedule import execute
from scenarios.execution.shards import Shard
from scenarios.execution.work import Ended, Work
from scenarios.learners.catalogue import LEARNERS
from scenarios.streams.task import Scenario
from scenarios.study.identity import Identity, identify
from scenarios.study.job import Job, jobs_of, network_of, parts_of
from scenarios.study.overrides import Overrides
from scenarios.study.quarantine import notes
from scenarios.study.reading import check_study
from scenarios.study.sealing import refuse_links
from scenarios.study.shortcut import command_hash
from scenarios.study.source import read_study
from scenarios.study.spec import Study
from scenarios.study.stamp import (
    Origin,
    Stamp,
    code_hash,
    hashes,
    read_stamp,
    shown,
    sources,
    state,
    write_stamp,
)
from scenarios.study.tables import write_tables
from scenarios.terminal import printable

_ROUNDS = 2
_LOST = "its files were damaged while they were read, twice: check the disk, and run again"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where and with what a study runs; nothing here can change its results, but the device.

    out: the run directory, None = runs/NAME; data, download: see `Location`; choice: the
    executor; shard: which of several processes on the run directory this is, None = it waits for
    what others do; cache_budget: bytes of memory for features' values, of all workers together,
    None = half of what is free; told: what the command was told, see `scenarios.study.shortcut`,
    None = the same command given again goes the long way.
    """

    out: Path | None = None
    data: Path | None = None
    download: bool = False
    choice: Choice = field(default_factory=Choice)
    shard: Shard | None = None
    device: str = "cpu"
    cache_budget: int | None = None
    told: str | None = None


def run_study(source: str, overrides: Overrides, options: Options) -> bool:
    """Run the study of that preset or file to its end, from wherever an earlier run stopped.

    Returns whether no job has failed; the tables then are those of the whole study.
    """
    code_hash()  # later it may not be that of the code which runs
    raw = read_study(source)
    study = overrides.applied_to(check_study(raw, source))
    device = device_named(options.device, here=not options.choice.remote)
    executor = options.choice.executor_on(device)
    location = Location.of(options.data, options.download)
    # Before the data are read: what changes meanwhile is seen the next time.
    origin = _origin(raw, options.told, study.scenario.files(location))
    scenario = study.scenario.scenario(location)
    # What does not fit the data is refused here, before anything is written.
    jobs = jobs_of(study, len(scenario.tasks))
    _refuse_misfits(study, scenario)
    identity = identify(study, scenario, device)
    root = options.out or Path("runs") / study.name
    work = _work(identity, root, location.folder, options, len(jobs))
    refuse_links(root)
    identity.claim(root)
    for folder in (root, *(root / name for name in ("scratch", "figures", "failures"))):
        sweep(folder)
    console = Console()
    # A machine that only drives those with GPUs knows nothing of their memory.
    if work.sharing is None and work.retraining_left(jobs):
        show_plan(console, _plans(study, scenario, work.cache), work.cache)
    del scenario  # whoever does a job loads the data for itself
    ends = _to_the_end(console, work, jobs, executor, options.shard, origin)
    for note in notes(root):
        console.print(printable(note), markup=False)
    return show_ends(console, root, ends)


def _work(identity: Identity, root: Path, data: Path | None, options: Options, jobs: int) -> Work:
    """Return the work, with each worker's share of the memory if that is this machine's."""
    device, scratch = torch.device(options.device), root / "scratch"
    storage, sharing = identity.study.storage, min(options.choice.side_by_side(device), jobs)
    work = Work(
        identity=identity,
        location=Location(data),
        device=options.device,
        root=root,
        cache=CacheSettings(budget=options.cache_budget, storage=storage, scratch=scratch),
        sharing=sharing,
    )
    if device.type == "cuda" and not torch.cuda.is_available():
        return work
    return replace(work, cache=work.cache.settled(device, sharing), sharing=None)


def _origin(raw: Mapping[str, Any], told: str | None, files: Sequence[Path]) -> Origin | None:
    if told is None:
        return None
    try:
        return Origin(command=command_hash(raw, told), data=state(files))
    except OSError:
        return None  # the current folder is gone


def _refuse_misfits(study: Study, scenario: Scenario) -> None:
    """Raise InputError for a network that cannot see the data, and for budgets too small."""
    few = _few(scenario)
    for name, settings in study.learners.items():
        network_of(study, name, LEARNERS[settings.kind].view(few))
        if settings.budget:
            settings.budget.quota(scenario.classes)


def _to_the_end(
    console: Console,
    work: Work,
    jobs: Sequence[Job],
    executor: Executor,
    shard: Shard | None,
    origin: Origin | None,
) -> list[Ended]:
    """Do what is left of the jobs and show the tables, unless other processes are still at it."""
    left, ends = shard.order(jobs) if shard else list(jobs), list[Ended]()
    for _ in range(_ROUNDS):
        try:
            events = execute(work, left, executor, wait=shard is None)
            ends += show_progress(console, work, jobs, events)
        finally:
            _remove(work.root / "scratch")
        if any(end.how == "held" for end in ends):
            return ends
        if not ends and not os.access(work.root, os.W_OK):
            _refuse_unless_up_to_date(work)
            said = f"{work.root} cannot be written to: as it was finished"
            console.print(printable(said), markup=False)
            _show_results(console, work)
            return []
        _write_results(work, origin)
        # What was damaged since it was last looked at is set aside when the tables are made.
        failed = {end.job for end in ends if end.how == "failed"}
        left = [job for job in jobs if job not in failed and not _is_whole(work, job)]
        if not left:
            break
    _show_results(console, work)
    return ends + [Ended(job=job, how="failed", reason=_LOST) for job in left]


def _is_whole(work: Work, job: Job) -> bool:
    return work.finished(job) == set(parts_of(work.identity.study, job))


def _write_results(work: Work, origin: Origin | None) -> None:
    """Bring tables and figures up to date, and what they were made of."""
    root = work.root
    while True:
        # Who was stopped for so long that another has written them reads the results again.
        with suppress(Lost), work.claims.awaited("tables") as allowed:
            there, now = read_stamp(root), sources(root, work.identity.content())
            if there is not None and there.holds(root, now):
                files: Mapping[str, str] | None = there.files
            else:
                files = _written_results(work, allowed)
            if files is not None:
                allowed()
                write_stamp(root, Stamp(made_of=now, files=files, origin=origin))
            break
    work.claims.forget()


def _written_results(work: Work, allowed: Callable[[], object]) -> dict[str, str] | None:
    """Write tables and figures; return their hashes if they are whole and as they were written."""
    root = work.root
    sweep_all(root, "*.csv")
    sweep_all(root / "figures")
    whole = write_tables(work.identity, root, allowed)
    tables = hashes(root, [*TABLES, TIMES])
    build(root)
    files = hashes(root, shown(root))
    if not whole or tables is None or files is None:
        return None
    # Figures take seconds to draw.
    return files if tables.items() <= files.items() else None


def _refuse_unless_up_to_date(work: Work) -> None:
    there = read_stamp(work.root)
    if there is None or not there.holds(work.root, sources(work.root, work.identity.content())):
        raise NotWritten(
            f"{work.root} cannot be written to, and its tables are not made of what is finished "
            f"there: allow writing, or continue in a copy of it"
        )


def _show_results(console: Console, work: Work) -> None:
    omegas = work.identity.study.scenario.kind != "split"
    show_outcome(console, work.root, omegas, shown(work.root))


def _plans(study: Study, scenario: Scenario, cache: CacheSettings) -> dict[str, tuple[Placed, ...]]:
    """Return where jobs keep their features' values, by network: the study's or a learner's own."""
    train = sum(len(task.train) for task in scenario.tasks)
    test = sum(len(task.test) for task in scenario.tasks)
    few, plans = _few(scenario), {}
    for name, settings in study.learners.items():
        kind, features = LEARNERS[settings.kind], study.features_of(name)[:-1]
        network = name if kind.own_features else study.network.name
        if features and not kind.offline and network not in plans:
            seen = kind.view(few)
            model, sample = network_of(study, name, seen), seen.tasks[0].test.x
            recipe = study.retraining_recipe
            plans[network] = cache_plan(model, features, sample, (train, test), recipe, cache)
    return plans


def _few(scenario: Scenario) -> Scenario:
    """Return the scenario with so few examples that a learner's view of it costs nothing."""
    tasks = [
        replace(
            task,
            train=Examples(task.train.x[:SAMPLE], task.train.y[:SAMPLE]),
            test=Examples(task.test.x[:SAMPLE], task.test.y[:SAMPLE]),
        )
        for task in scenario.tasks
    ]
    return replace(scenario, tasks=tuple(tasks))


def _remove(folder: Path) -> None:
    # Its files are gone with those who used them; one that a crash has left is swept at a start.
    with suppress(OSError):
        folder.rmdir()
