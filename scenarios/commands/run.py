"""`probe run`: a study from its file to its tables and figures.

It reads the study and applies the flags; loads the data and refuses settings that do
not fit them; writes the plan to the run directory; does the remaining jobs, here or in
parallel; makes tables and figures of all results; and prints the results. A run that is
stopped loses only the measurement in progress, and the same command resumes it. A
larger study on the same directory computes only the new jobs. Tables need pandas, which
is imported only then: it takes a third of a second.

Other processes may run on the same directory at any moment. The files that all of them
write, the plan and the tables, are written under the directory's lock.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import torch

from probe.batch import first
from probe.by_layer.jobs import jobs_of
from probe.by_layer.networks import Source
from probe.by_layer.plan import Plan
from probe.by_layer.store import Store
from probe.devices import device_named
from probe.files import make_folder, sweep
from probe.locks import is_locked, lock
from probe.metrics.murata import RETRAIN
from probe.results import run_directory
from probe.retrain import SAMPLE, cache_plan
from probe.values.allocation import Allocation, CacheSettings
from scenarios.commands.report import build, show_report
from scenarios.commands.screen import progress
from scenarios.commands.screen.terminal import show_line
from scenarios.data.datasets import Location
from scenarios.execution.devices import executor_for, side_by_side
from scenarios.execution.schedule import Executor, execute
from scenarios.execution.work import Ended, Work
from scenarios.options import RunOptions
from scenarios.study.plan import BUILT_IN, Loader, Prepared, Sizes, prepare_study
from scenarios.study.study_file import apply_flags, check_study
from scenarios.study.study_toml import read_study
from scenarios.user_code import UserCode
from scenarios.user_objects import USER_METRICS


def run_study(source: str, options: RunOptions, typed: str = "") -> bool:
    """Run the study of a preset or file to its end, resuming an earlier run.

    Args:
        source: The name of a preset, or the path of a TOML file.
        options: The flags of `probe run`.
        typed: The command line that was typed, if any.

    Returns:
        Whether no job failed.

    Raises:
        InputError: Flags, data or networks cannot be used; nothing is written then.
    """
    user_code = UserCode(loads=options.load or ())
    with user_code.opened(BUILT_IN):
        # First without the flags, so that the error for a mistake in the file uses the
        # file's terms.
        raw = read_study(source, options.variant)
        study = apply_flags(check_study(raw, source), options)
        root = options.out or Path("runs") / study.name
        # A dry run writes nothing: it takes the precision that is there.
        dry = options.dry_run and not (root / run_directory.PRECISION).exists()
        location = Location.of(options.data, options.download)
        return run_plan(
            partial(prepare_study, study, user_code, location, None if dry else root),
            options,
            root,
            typed and f"{typed} --seeds {max(3, 2 * len(study.seeds))}",
            omegas=study.scenario.kind != "class-incremental",
        )


def run_plan(
    prepare: Callable[[torch.device], Prepared],
    options: RunOptions,
    root: Path,
    next_command: str,
    *,
    trained: bool = True,
    omegas: bool = False,
) -> bool:
    """Run a plan to its end, resuming an earlier run, and print its results.

    Args:
        prepare: A function that returns the plan for a device.
        options: The flags.
        root: The run directory.
        next_command: The command to suggest when the run has ended.
        trained: Whether the run trains its networks; those from checkpoints have no
            costs.
        omegas: Whether to print Kemker 2018's table.

    Returns:
        Whether no job failed; the tables are then complete.

    Raises:
        InputError: Flags, data or networks cannot be used; nothing is written then.
        NotWritten: The run directory can no longer be written to.
    """
    device = _device(options)
    options = replace(options, device=str(device))
    executor = executor_for(options, device)
    source, loader, sizes = prepare(device)
    plan = source.plan.model_copy(update={"next": next_command})
    work = _work(plan, loader, root, options)
    run_directory.refuse_foreign(root)
    # Shown first, as looking at the files and cutting the network may take long.
    show_line(
        f"{plan.name}: {len(jobs_of(plan))} jobs, {_retraining_phrase(plan)}results in {root}"
    )
    allocations = _allocations(source, sizes, work)
    if options.dry_run:
        processes = side_by_side(options, device)
        progress.show_dry_run(work, sizes, allocations, processes)
        return True
    del source  # frees its networks
    of_networks = chain(*allocations.values())
    if any(allocation.location != "in memory" for allocation in of_networks):
        progress.show_allocations(allocations, work)
    try:
        ends, states = _to_the_end(work, executor, options)
    finally:
        # Its files vanish with the processes that use them; others may still do so.
        with suppress(OSError):
            (root / "scratch").rmdir()
    if not any(end.how == "locked" for end in ends):
        _show_results(root, options, trained=trained, omegas=omegas)
    return progress.show_ends(root, ends, run_directory.remarks(root, states))


def _show_results(
    root: Path, options: RunOptions, *, trained: bool, omegas: bool
) -> None:
    """Print the results in a run directory, and write the page that was asked for."""
    # Imported here, as it imports pandas, which a dry run does not need.
    from scenarios.commands.screen.results import show_outcome

    show_outcome(root, tables=options.tables, trained=trained, omegas=omegas)
    if options.report:
        show_report([root], options.report)


def _device(options: RunOptions) -> torch.device:
    """Return the device of the jobs, and show it where nobody chose a GPU."""
    device = device_named(options.device, here=not options.remote)
    if options.device == "auto" and device.type == "cuda":
        show_line(
            f"jobs run on {torch.cuda.get_device_name()}: --device cpu would not use it"
        )
    return device


def _retraining_phrase(plan: Plan) -> str:
    """Return a phrase on the tasks after which layers are retrained, "" if on none."""
    named = {"all": "after every task", "ends": "after the last task alone"}
    has_layers = any(len(learner.features) > 1 for learner in plan.learners.values())
    if RETRAIN not in plan.readouts or not has_layers:
        return ""
    when = named.get(str(plan.readouts[RETRAIN].steps))
    return f"retraining {when}, " if when else ""


def _work(plan: Plan, loader: Loader, root: Path, options: RunOptions) -> Work:
    """Return the work, with each worker's share of the memory if it runs on this machine."""
    device = torch.device(options.device)
    # No more workers than jobs share the memory.
    workers = min(side_by_side(options, device), len(jobs_of(plan)))
    cache = CacheSettings(
        budget=options.cache_bytes, storage=plan.storage, scratch=root / "scratch"
    )
    # For GPUs of other machines the share is determined there, when a job begins.
    is_here = device.type == "cpu" or torch.cuda.is_available()
    return Work(
        plan=plan,
        loader=loader,
        device=options.device,
        root=root,
        cache=cache.settled(device, workers) if is_here else cache,
        sharing=None if is_here else workers,
        recompute=options.recompute == "changed",
    )


def _allocations(source: Source, sizes: Sizes, work: Work) -> progress.Allocations:
    """Return where activations are cached, for the study's network and for learners' own.

    The result is empty if nothing is left to retrain, or another machine decides.
    """
    allocations: dict[str, tuple[Allocation, ...]] = {}
    jobs = jobs_of(work.plan)
    keys_left = chain.from_iterable(map(work.keys_left, jobs))
    # A machine that only drives others with GPUs does not know their memory.
    if work.sharing or not any(key.readout.is_retraining for key in keys_left):
        return allocations
    train, test = zip(*sizes, strict=True)
    for job in jobs:
        network = job.learner if job.own_network else work.plan.network
        # Nothing is retrained downstream of the output.
        features = work.plan.learners[job.learner].features[:-1]
        if features and not job.offline and network not in allocations:
            networks = source.networks(job, Store(work.root, job.name, {}))
            allocations[network] = cache_plan(
                networks.after(job.steps[0]).model,
                features,
                first(networks.scenario.test.x, SAMPLE),
                (sum(train), sum(test)),
                work.cache,
                networks.call.output,
                networks.call.call,
            )
    return allocations


def _to_the_end(
    work: Work, executor: Executor, options: RunOptions
) -> tuple[list[Ended], list[run_directory.JobState]]:
    """Write the plan, do the remaining jobs, and write the tables unless others are still at work.

    Returns how the jobs ended, and the states of the jobs, which the tables hold if
    they were written. If making the tables reveals a corrupt file, its measurement is
    repeated once; a second loss counts as a failure.
    """
    make_folder(work.root)
    with _locked(work.root):
        run_directory.describe(work.root, work.plan)
    # In each seed the floor and the ceiling first, as other jobs compare their networks
    # with them; jobs that leave out a task last.
    jobs = jobs_of(work.plan)
    ordered = sorted(
        jobs, key=lambda job: (job.seed, not job.offline, bool(job.without))
    )
    remaining = options.ordered(ordered)
    ends = list[Ended]()
    for _ in range(2):
        # A shard does not wait: the last of them to end writes the tables.
        events = execute(work, remaining, executor, wait=options.shard is None)
        ends += progress.show_progress(work, events)
        if any(end.how == "locked" for end in ends):
            return ends, run_directory.survey(work.plan, work.root)
        states = _write_results(work)
        # A file that was damaged meanwhile has been set aside while tables were made.
        failed = {end.job for end in ends if end.how == "failed"}
        remaining = [job for job in jobs if job not in failed and work.keys_left(job)]
        if not remaining:
            return ends, states
    lost = (
        "its files were damaged while they were read, twice: check the disk, and run "
        "again"
    )
    ends += [Ended(job=job, how="failed", reason=lost) for job in remaining]
    return ends, states


def _write_results(work: Work) -> list[run_directory.JobState]:
    """Update tables and figures; return the states of the jobs in them.

    It holds the directory's lock meanwhile, as other processes may do the same. Figures
    are drawn only where their tables have changed.
    """
    from probe.results.tables import write_tables

    with _locked(work.root):
        # No job is at work any more: nobody is writing a first task's training.
        first_tasks = work.root.glob("jobs/first-task/*")
        for folder in (work.root, work.root / "figures", *first_tasks):
            sweep(folder)
        # Before the tables: a job that ends meanwhile may be in them, and they are then
        # made again.
        states = run_directory.survey(work.plan, work.root)
        run_directory.remove_locks(work.root, states)
        write_tables(work.plan, work.root, USER_METRICS.values())
        # Another process may have described its own study there since this one started.
        run_directory.describe(work.root, work.plan, run_directory.results_hash(states))
        build(work.root)
        return states


def _locked(root: Path) -> AbstractContextManager[None]:
    """Return the lock of the run directory; print a note if another process holds it."""
    if is_locked(root):
        show_line(f"{root}: waiting for another process to write the tables")
    return lock(root, wait=True)
