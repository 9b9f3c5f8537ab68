"""`probe run`: a study from its name to its tables and figures.

In this order: the study is read and changed by the flags; the data are loaded, and whatever does
not fit is refused; the run directory is described; the jobs that are left are done, here or side by
side; tables and figures are made of all results; the results are printed. To stop it at any point
costs only what was being done, and the same command goes on from there. A command for a larger
study on the same directory does only what is new.

Other processes may run on the same directory at any moment. What all of them write, the description
and the tables, is written under the directory's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console

from figures.build import build
from probe.errors import InputError
from probe.files import make_folder, sweep
from probe.tables.run_directory import LAYERS, NOTES, TABLES, TIMES
from probe.values.allocation import Allocation, CacheSettings
from scenarios.commands.plan import show_dry_run
from scenarios.commands.screen.progress import show_ends, show_plan, show_progress
from scenarios.commands.screen.results import show_outcome
from scenarios.commands.screen.terminal import printable
from scenarios.data.datasets import Location
from scenarios.device import device_named
from scenarios.execution.choosing import executor_for, side_by_side
from scenarios.execution.executor import Executor
from scenarios.execution.locks import is_locked, lock
from scenarios.execution.schedule import execute
from scenarios.execution.work import Ended, Work
from scenarios.learners.given import GivenSettings
from scenarios.options import RunOptions
from scenarios.own_code import OwnCode
from scenarios.study.fingerprint import Setup, setup_of
from scenarios.study.jobs import Job, jobs_of
from scenarios.study.own import OURS, with_own_features
from scenarios.study.preflight import cache_plans, refuse_misfits
from scenarios.study.reporting.tables import write_tables
from scenarios.study.run_directory import (
    JobState,
    describe,
    made_of,
    refuse_foreign,
    remarks,
    survey,
)
from scenarios.study.source import check_study, overridden, read_study
from scenarios.study.spec import Study

Outcome = tuple[list[Ended], list[JobState]]
"""How jobs ended, and the results that there are."""

_ROUNDS = 2
_FIGURES = (".png", ".svg")
_LOST = "its files were damaged while they were read, twice: check the disk, and run again"


def run_study(source: str, options: RunOptions) -> bool:
    """Run the study of that preset or file to its end, from wherever an earlier run stopped.

    source: a preset's name or a TOML file's path; options: the flags. Returns and raises as
    `carry_through` does.
    """
    own = OwnCode(loads=options.load or ())
    with own.opened(OURS):
        # First without the flags: a mistake in the file is named as the file has it.
        study = overridden(check_study(read_study(source), source), options)
        _refuse_given(study, source)
        return show_whole(study, own, options, None)


def _refuse_given(study: Study, source: str) -> None:
    """Raise InputError for networks in files, which a study's file cannot vouch for."""
    for name, settings in study.learners.items():
        given = isinstance(settings, GivenSettings) and settings.networks
        if given or settings.kind == "checkpoints":
            raise InputError(
                f"{source}: learners.{name}: networks that are given as files are measured by "
                f"`probe model`: name a learner of `probe list`"
            )


def show_whole(
    study: Study, own: OwnCode, options: RunOptions, show: Callable[[Console, Path], None] | None
) -> bool:
    """Run a study to its end, see `carry_through`, and print what came out.

    show: prints the results of a run directory; None = all of them, with every file's path. Returns
    whether no job has failed; the tables then are those of the whole study.
    """
    console = Console()
    outcome = carry_through(console, study, own, options)
    if outcome is None:
        return True
    ends, states = outcome
    root = options.out or Path("runs") / study.name
    if not any(end.how == "locked" for end in ends):
        if show:
            show(console, root)
        else:
            show_outcome(console, root, study.scenario.kind != "split", _shown(root))
    for remark in remarks(root, states):
        console.print(printable(remark), markup=False, soft_wrap=True)
    return show_ends(console, root, ends)


def carry_through(
    console: Console, study: Study, own: OwnCode, options: RunOptions, draw: bool = True
) -> Outcome | None:
    """Run a study to its end, from wherever an earlier run stopped.

    console: where it is shown how far it is; own: the user's own code, which is open; options: all
    flags but those that change the study; draw: whether to draw figures. Returns how jobs ended,
    and the results that there are; None of a dry run. Raises InputError for a study, flags or data
    that cannot be used, before anything is written, and NotWritten when the run directory can no
    longer be written to.
    """
    device = device_named(options.device, here=not options.remote)
    executor = executor_for(options, device)
    location = Location.of(options.data, options.download)
    scenario = study.scenario.scenario(location)
    # What does not fit the data is refused here, before anything is written.
    study = with_own_features(study, scenario)
    jobs = jobs_of(study, len(scenario.tasks))
    refuse_misfits(study, scenario)
    root = options.out or Path("runs") / study.name
    setup = setup_of(study, scenario, device)
    work = replace(_work(setup, root, location.folder, options, len(jobs)), own=own)
    refuse_foreign(root)
    if options.dry_run:
        show_dry_run(console, work, scenario, jobs, min(side_by_side(options, device), len(jobs)))
        return None
    # A machine that only drives those with GPUs knows nothing of their memory.
    known = work.sharing is None and work.retraining_left(jobs)
    plans = cache_plans(study, scenario, work.cache) if known else {}
    del scenario  # whoever does a job loads the data for itself
    return _carried_through(console, work, jobs, plans, executor, options, draw)


def _carried_through(
    console: Console,
    work: Work,
    jobs: Sequence[Job],
    plans: Mapping[str, Sequence[Allocation]],
    executor: Executor,
    options: RunOptions,
    draw: bool,
) -> Outcome:
    """Do all jobs that are left; see `carry_through`."""
    _describe(console, work)
    if plans:
        show_plan(console, plans, work.cache)
    try:
        return _to_the_end(console, work, jobs, executor, options, draw)
    finally:
        # Its files are gone with those who used them; other processes may use it still.
        with suppress(OSError):
            (work.root / "scratch").rmdir()


def _describe(console: Console, work: Work) -> None:
    """Take the run directory for this study."""
    make_folder(work.root)
    with _alone_in(console, work.root):
        describe(work.root, work.setup)


def _work(setup: Setup, root: Path, data: Path | None, options: RunOptions, jobs: int) -> Work:
    """Return the work, with each worker's share of the memory if that is this machine's.

    data: the data folder; jobs: how many there are, as no more workers than that share the memory.
    For GPUs of other machines the share is settled there, when a job begins.
    """
    device = torch.device(options.device)
    storage, sharing = setup.study.storage, min(side_by_side(options, device), jobs)
    work = Work(
        setup=setup,
        location=Location(data),
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
    console: Console,
    work: Work,
    jobs: Sequence[Job],
    executor: Executor,
    options: RunOptions,
    draw: bool,
) -> Outcome:
    """Do what is left of the jobs and write the tables, unless other processes are still at it.

    Returns how jobs ended, and their results, of which the tables were made if they were.

    Files may be found corrupt only when the tables are made of them, and their parts are then
    missing: so it is done once more, and what is lost again counts as failed.
    """
    # Levels first in each seed, as the other jobs compare their networks with them.
    begun = sorted(jobs, key=lambda job: (job.seed, not job.offline))
    left = options.part.order(begun) if options.part else begun
    ends: list[Ended] = []
    for _ in range(_ROUNDS):
        # A shard does not wait: the last of them to end writes the tables.
        events = execute(work, left, executor, wait=options.part is None)
        ends += show_progress(console, work, jobs, events)
        if any(end.how == "locked" for end in ends):
            return ends, survey(work.setup, work.root)
        states = _write_results(console, work, draw)
        # What was damaged since it was last looked at is set aside when the tables are made.
        failed = {end.job for end in ends if end.how == "failed"}
        left = [j for j in jobs if j not in failed and work.finished(j) != set(work.parts(j))]
        if not left:
            return ends, states
    return ends + [Ended(job=job, how="failed", reason=_LOST) for job in left], states


def _write_results(console: Console, work: Work, draw: bool) -> list[JobState]:
    """Bring tables and figures up to date; return the results that they are made of.

    Under the directory's lock, as other processes may want to do the same. Figures are drawn only
    where their tables have changed.
    """
    with _alone_in(console, work.root):
        for folder in (work.root, work.root / "figures"):
            sweep(folder)
        # Before the tables: what is finished meanwhile may be in them, and then they are made anew.
        states = survey(work.setup, work.root)
        write_tables(work.setup, work.root)
        # Another process may have described its own study there since this one began.
        describe(work.root, work.setup, made_of(states))
        if draw:
            build(work.root, changed_only=True)
        return states


@contextmanager
def _alone_in(console: Console, root: Path) -> Iterator[None]:
    """Hold the lock of the run directory within the block; say so if it has to be waited for."""
    if is_locked(root):
        said = f"{root}: waiting for another process, which writes its tables"
        console.print(printable(said), markup=False, soft_wrap=True)
    with lock(root, wait=True):
        yield


def _shown(root: Path) -> list[str]:
    """Return the names of the tables and figures of a run directory, as they are shown."""
    figures = sorted(path for path in (root / "figures").glob("*.*") if path.suffix in _FIGURES)
    there = [name for name in (*LAYERS, NOTES) if (root / name).is_file()]
    return [*TABLES, TIMES, *there, *(f"figures/{path.name}" for path in figures)]
