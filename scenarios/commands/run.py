"""`probe run`: a study from its file to its tables and figures.

It reads the study and applies the flags; loads the data and refuses settings that do not fit them;
writes the plan to the run directory; does the jobs that are left, here or in parallel; makes tables
and figures of all results; and prints the results. A run that is stopped loses only the measurement
in progress, and the same command resumes it. A larger study on the same directory computes only the
new jobs. Tables need pandas, which is imported only then: it takes a third of a second.

Other processes may run on the same directory at any moment. The files that all of them write, the
plan and the tables, are written under the directory's lock.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from rich.console import Console

from probe.by_layer.jobs import Job, jobs_of
from probe.by_layer.plan import Plan
from probe.files import make_folder, sweep
from probe.locks import is_locked, lock
from probe.results import run_directory
from probe.values.allocation import Allocation, CacheSettings
from scenarios.commands.report import build, show_report
from scenarios.commands.screen.progress import show_dry_run, show_ends, show_plan, show_progress
from scenarios.commands.screen.terminal import show_line
from scenarios.data.datasets import Location
from scenarios.execution.devices import device_named, executor_for, side_by_side
from scenarios.execution.schedule import Executor, execute
from scenarios.execution.work import Ended, Loader, Work
from scenarios.options import RunOptions
from scenarios.study.plan import (
    BUILT_IN,
    StudyLoader,
    cache_plans,
    examples_of,
    plan_of,
    refuse_misfits,
    sample_of,
    sources_of,
    with_precision,
    with_user_features,
)
from scenarios.study.spec import Study
from scenarios.study.study_file import check_study, overridden, read_study
from scenarios.user_code import REGISTRY, UserCode

_ROUNDS = 2
_LOST = "its files were damaged while they were read, twice: check the disk, and run again"


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A plan with everything needed to carry it out.

    Attributes:
        plan: The plan.
        loader: Loads its networks and data.
        caches: Returns the allocations of features' values, by network.
        sizes: The number of training examples of each task.
    """

    plan: Plan
    loader: Loader
    caches: Callable[[CacheSettings], Mapping[str, Sequence[Allocation]]]
    sizes: Sequence[int]


def run_study(source: str, options: RunOptions) -> bool:
    """Run the study of a preset or file to its end, resuming an earlier run.

    Args:
        source: A preset's name or a TOML file's path.
        options: The flags.

    Returns:
        Whether no job failed.

    Raises:
        InputError: As `carry_through`.
    """
    user_code = UserCode(loads=options.load or ())
    with user_code.opened(BUILT_IN):
        # First without the flags: mistakes in the file are reported in the file's terms.
        study = overridden(check_study(read_study(source), source), options)
        root = options.out or Path("runs") / study.name
        # A dry run writes nothing: it takes the precision that is there.
        dry = options.dry_run and not (root / run_directory.PRECISION).exists()
        location = Location.of(options.data, options.download)
        prepare = partial(_prepare, study, user_code, location, None if dry else root)
        show = partial(show_outcome, omegas=study.scenario.kind != "class-incremental")
        return carry_through(prepare, options, root, show)


def show_outcome(console: Console, root: Path, **options: bool) -> None:
    """Print the results in a run directory, see `scenarios.commands.screen.results`."""
    # It imports pandas, which a plan is shown without.
    from scenarios.commands.screen import results

    results.show_outcome(console, root, **options)


def _prepare(
    study: Study, user_code: UserCode, location: Location, root: Path | None, device: torch.device
) -> PreparedRun:
    """Plan a study with its data; raises InputError for settings that do not fit them."""
    # Before they are read: a file that changes meanwhile has another one.
    stamped = Location(location.folder, files=location.stamps(study.scenario.data))
    scenario = study.scenario.scenario(location)
    study = with_precision(with_user_features(study, scenario), scenario, device, root)
    plan = plan_of(study, scenario, device)
    jobs_of(plan)
    refuse_misfits(study, scenario)
    return PreparedRun(
        plan=plan,
        loader=StudyLoader(
            study=study, location=stamped, user_code=user_code, sources=sources_of(study)
        ),
        # Only this is stored of the data: every process that does a job loads them.
        caches=partial(cache_plans, study, sample_of(scenario), *examples_of(scenario)),
        sizes=[len(task.train) for task in scenario.tasks],
    )


def carry_through(
    prepare: Callable[[torch.device], PreparedRun],
    options: RunOptions,
    root: Path,
    show: Callable[[Console, Path], None],
) -> bool:
    """Run a plan to its end, resuming an earlier run, and print its results.

    Args:
        prepare: Returns the plan for a device.
        options: The flags.
        root: The run directory.
        show: Prints the results in it.

    Returns:
        Whether no job failed; the tables are then complete.

    Raises:
        InputError: Flags, data or networks cannot be used; nothing is written then.
        NotWritten: The run directory can no longer be written to.
    """
    console = Console()
    device = device_named(options.device, here=not options.remote)
    executor, run = executor_for(options, device), prepare(device)
    jobs = jobs_of(run.plan)
    work = _work(run, root, options, len(jobs))
    run_directory.refuse_foreign(root)
    # Before the files are looked at and the network is cut, which takes half as long again.
    show_line(console, f"{work.plan.name}: {len(jobs)} jobs, results in {root}")
    # A machine that only drives others with GPUs does not know their memory.
    is_known = work.sharing is None and work.retraining_left(jobs)
    plans = run.caches(work.cache) if is_known else {}
    if options.dry_run:
        show_dry_run(console, work, run.sizes, plans, jobs, side_by_side(options, device))
        return True
    del run
    if plans:
        show_plan(console, plans, work.cache)
    try:
        ends, states = _to_the_end(console, work, jobs, executor, options)
    finally:
        # Its files are gone with those who used them; other processes may use it still.
        with suppress(OSError):
            (root / "scratch").rmdir()
    if not any(end.how == "locked" for end in ends):
        show(console, root)
        if options.report:
            show_report([root], options.report)
    return show_ends(console, root, ends, run_directory.remarks(root, states))


def _work(run: PreparedRun, root: Path, options: RunOptions, jobs: int) -> Work:
    """Return the work, with each worker's share of the memory if it runs on this machine.

    jobs: their number, as no more workers than that share the memory. For GPUs of other machines
    the share is determined there, when a job begins.
    """
    device = torch.device(options.device)
    storage, sharing = run.plan.storage, min(side_by_side(options, device), jobs)
    work = Work(
        plan=run.plan,
        loader=run.loader,
        device=options.device,
        root=root,
        cache=CacheSettings(budget=options.cache_bytes, storage=storage, scratch=root / "scratch"),
        sharing=sharing,
        recompute=options.recompute == "changed",
    )
    if device.type == "cuda" and not torch.cuda.is_available():
        return work
    return replace(work, cache=work.cache.settled(device, sharing), sharing=None)


def _to_the_end(
    console: Console, work: Work, jobs: Sequence[Job], executor: Executor, options: RunOptions
) -> tuple[list[Ended], list[run_directory.JobState]]:
    """Describe the plan, do the rest of the jobs, and write the tables unless others still work.

    Returns the ends of the jobs, and their results, in the tables if these were written. A file may
    be found corrupt only when the tables are made, and its measurement is then missing: so it is
    repeated once, and a second loss counts as failed.
    """
    make_folder(work.root)
    with _locked(console, work.root):
        run_directory.describe(work.root, work.plan)
    # Floor and ceiling first in each seed, as the other jobs compare their networks with them.
    ordered = sorted(jobs, key=lambda job: (job.seed, not job.offline, bool(job.without)))
    remaining = options.ordered(ordered)
    ends: list[Ended] = []
    for _ in range(_ROUNDS):
        # A shard does not wait: the last of them to end writes the tables.
        events = execute(work, remaining, executor, wait=options.shard is None)
        ends += show_progress(console, work, jobs, events)
        if any(end.how == "locked" for end in ends):
            return ends, run_directory.survey(work.plan, work.root)
        states = _write_results(console, work)
        # What was damaged since it was last looked at is set aside when the tables are made.
        failed = {end.job for end in ends if end.how == "failed"}
        remaining = [j for j in jobs if j not in failed and work.finished(j) != set(work.keys(j))]
        if not remaining:
            return ends, states
    return ends + [Ended(job=job, how="failed", reason=_LOST) for job in remaining], states


def _write_results(console: Console, work: Work) -> list[run_directory.JobState]:
    """Update tables and figures; return the results in them.

    It holds the directory's lock, as other processes may do the same. Figures are drawn only where
    their tables have changed.
    """
    from probe.results.tables import write_tables

    with _locked(console, work.root):
        # No job is at work any more: nobody is writing a first task's training.
        for folder in (work.root, work.root / "figures", *work.root.glob("jobs/first-task/*")):
            sweep(folder)
        # Before the tables: what is finished meanwhile may be in them, and then they are made anew.
        states = run_directory.survey(work.plan, work.root)
        run_directory.remove_locks(work.root, states)
        write_tables(work.plan, work.root, REGISTRY.metrics.values())
        # Another process may have described its own study there since this one started.
        run_directory.describe(work.root, work.plan, run_directory.results_hash(states))
        build(work.root)
        return states


@contextmanager
def _locked(console: Console, root: Path) -> Iterator[None]:
    """Hold the lock of the run directory within the block; print a note if it has to wait."""
    if is_locked(root):
        show_line(console, f"{root}: waiting for another process to write the tables")
    with lock(root, wait=True):
        yield
