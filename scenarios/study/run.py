"""A study from its name to its pictures: what `probe run` does."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from figures.build import build
from probe.errors import InputError
from probe.examples import Examples
from probe.files import sweep
from probe.placement import CacheSettings, Placed
from probe.retrain import SAMPLE, cache_plan
from probe.table import MetricRow, SummaryRow, TimeRow, read_table
from scenarios.console import show_ends, show_omegas, show_plan, show_results
from scenarios.datasets import Location
from scenarios.device import device_named
from scenarios.execution.choosing import Choice
from scenarios.execution.schedule import execute
from scenarios.execution.shards import Shard
from scenarios.execution.work import Work
from scenarios.learners.catalogue import LEARNERS
from scenarios.progress import show_progress
from scenarios.study.identity import identify
from scenarios.study.job import jobs_of, network_of
from scenarios.study.overrides import Overrides
from scenarios.study.quarantine import notes
from scenarios.study.reading import check_study, read_study
from scenarios.study.spec import Study
from scenarios.study.tables import TABLES, TIMES, write_tables
from scenarios.task import Scenario

_FOLDERS = ("jobs", "locks", "quarantine", "failures", "figures", "scratch")


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
    _refuse_links(root)
    work.identity.claim(root)
    for folder in (root, root / "scratch", root / "figures"):
        sweep(folder)
    console = Console()
    if work.retraining_left(jobs):
        show_plan(console, _plans(study, scenario, work.cache), work.cache)
    del scenario  # whoever does a job loads the data for itself
    executor = options.choice.executor_on(device)
    ordered = options.shard.order(jobs) if options.shard else jobs
    try:
        events = execute(work, ordered, executor, wait=options.shard is None)
        ends = show_progress(console, work, jobs, events)
    finally:
        _remove(root / "scratch")
    if not any(end.how == "held" for end in ends):
        with work.claims.awaited("tables"):
            write_tables(work.identity, root)
            pictures = build(root)
        work.claims.forget()
        _show_results(console, study, root, pictures)
    for note in notes(root):
        console.print(note, markup=False)
    return show_ends(console, root, ends)


def _refuse_links(root: Path) -> None:
    """Raise InputError if what is written into the run directory would land outside it."""
    for folder in (*(root / name for name in _FOLDERS), *(root / "jobs").glob("*")):
        if folder.is_symlink():
            raise InputError(
                f"{folder} is a link: a run directory holds its own folders, as what a link points "
                f"to may be anything; put the folder in its place, or choose another --out"
            )


def _show_results(console: Console, study: Study, root: Path, pictures: list[Path]) -> None:
    summary = read_table(root / "summary.csv", SummaryRow)
    metrics = read_table(root / "metrics.csv", MetricRow)
    show_results(console, summary, metrics)
    if study.scenario.kind != "split":
        show_omegas(console, metrics, read_table(root / TIMES, TimeRow))
    for path in [root / name for name in (*TABLES, TIMES)] + pictures:
        console.print(str(path), markup=False, soft_wrap=True)


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
