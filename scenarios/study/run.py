"""A study from its name to its pictures: what `probe run` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from figures.build import build
from figures.style import FORMATS
from probe.examples import Examples
from probe.files import sweep, sweep_all
from probe.placement import CacheSettings, Placed
from probe.printable import printable
from probe.retrain import SAMPLE, cache_plan
from probe.table import MetricRow, SummaryRow, TimeRow, read_table
from scenarios.console import show_ends, show_omegas, show_plan, show_results
from scenarios.datasets import Location
from scenarios.device import device_named
from scenarios.execution.choosing import Choice
from scenarios.execution.claims import Lost
from scenarios.execution.executor import Executor
from scenarios.execution.schedule import execute
from scenarios.execution.shards import Shard
from scenarios.execution.work import Ended, Work
from scenarios.learners.catalogue import LEARNERS
from scenarios.progress import show_progress
from scenarios.study.identity import identify
from scenarios.study.job import Job, jobs_of, network_of, parts_of
from scenarios.study.overrides import Overrides
from scenarios.study.quarantine import notes
from scenarios.study.reading import check_study, read_study
from scenarios.study.sealing import refuse_links
from scenarios.study.spec import Study
from scenarios.study.tables import TABLES, TIMES, write_tables
from scenarios.task import Scenario

_ROUNDS = 2
_LOST = "its files were damaged while they were read, twice: check the disk, and run again"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where and with what a study runs; nothing here can change its results, but the device.

    out: the run directory, None = runs/NAME; data, download: see `scenarios.datasets`; choice: the
    executor; shard: which of several processes on the run directory this is, None = it waits for
    what others do; cache_budget: bytes of memory for features' values, of all workers together,
    None = half of what is free.
    """

    out: Path | None = None
    data: Path | None = None
    download: bool = False
    choice: Choice = field(default_factory=Choice)
    shard: Shard | None = None
    device: str = "cpu"
    cache_budget: int | None = None


def run_study(source: str, overrides: Overrides, options: Options) -> bool:
    """Run the study of that preset or file to its end, from wherever an earlier run stopped.

    Returns whether no job has failed; the tables then are those of the whole study.
    """
    study = overrides.applied_to(check_study(read_study(source), source))
    device = device_named(options.device, here=not options.choice.remote)
    executor = options.choice.executor_on(device)
    location = Location.of(options.data, options.download)
    scenario = study.scenario.scenario(location)
    # What does not fit the data is refused here, before anything is written.
    jobs = jobs_of(study, len(scenario.tasks))
    few = _few(scenario)
    for name, settings in study.learners.items():
        network_of(study, name, LEARNERS[settings.kind].view(few))
        if settings.budget:
            settings.budget.quota(scenario.classes)
    root = options.out or Path("runs") / study.name
    work = Work(
        identity=identify(study, scenario, device),
        location=Location(location.folder),
        device=options.device,
        root=root,
        cache=CacheSettings(
            budget=options.cache_budget, storage=study.storage, scratch=root / "scratch"
        ).settled(device, min(options.choice.side_by_side(device), len(jobs))),
    )
    refuse_links(root)
    work.identity.claim(root)
    for folder in (root, *(root / name for name in ("scratch", "figures", "failures"))):
        sweep(folder)
    console = Console()
    if work.retraining_left(jobs):
        show_plan(console, _plans(study, scenario, work.cache), work.cache)
    del scenario  # whoever does a job loads the data for itself
    ends = _to_the_end(console, work, jobs, executor, options.shard)
    for note in notes(root):
        console.print(printable(note), markup=False)
    return show_ends(console, root, ends)


def _to_the_end(
    console: Console, work: Work, jobs: Sequence[Job], executor: Executor, shard: Shard | None
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
            said = f"{work.root} cannot be written to: as it was finished"
            console.print(printable(said), markup=False)
            _show_results(console, work)
            return []
        _write_results(work)
        # What was damaged since it was last looked at is set aside when the tables are made.
        failed = {end.job for end in ends if end.how == "failed"}
        left = [job for job in jobs if job not in failed and not _is_whole(work, job)]
        if not left:
            break
    _show_results(console, work)
    return ends + [Ended(job=job, how="failed", reason=_LOST) for job in left]


def _is_whole(work: Work, job: Job) -> bool:
    return work.finished(job) == set(parts_of(work.identity.study, job))


def _write_results(work: Work) -> None:
    while True:
        # Who was stopped for so long that another has written them reads the results again.
        with suppress(Lost), work.claims.awaited("tables") as allowed:
            sweep_all(work.root, "*.csv")
            sweep_all(work.root / "figures")
            write_tables(work.identity, work.root, allowed)
            build(work.root)
            break
    work.claims.forget()


def _show_results(console: Console, work: Work) -> None:
    study, root = work.identity.study, work.root
    summary = read_table(root / "summary.csv", SummaryRow)
    metrics = read_table(root / "metrics.csv", MetricRow)
    show_results(console, summary, metrics)
    if study.scenario.kind != "split":
        show_omegas(console, metrics, read_table(root / TIMES, TimeRow))
    pictures = (path for kind in FORMATS for path in (root / "figures").glob(f"*.{kind}"))
    for path in [root / name for name in (*TABLES, TIMES)] + sorted(pictures):
        console.print(printable(str(path)), markup=False, soft_wrap=True)


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
