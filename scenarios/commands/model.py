"""`probe model`: the analysis of a user's checkpoints, with tables and figures."""

import re
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from pydantic import StrictInt, TypeAdapter, ValidationError

from probe.errors import InputError, unknown
from probe.progress import tracked
from probe.record.checkpoints import Checkpoints
from probe.record.readers import READERS, ForeignRuns
from probe.record.recording import Recording, read_recording
from probe.results.run_directory import refuse_foreign
from probe.tasked_examples import as_tasks
from probe.validation import problem, problems
from scenarios.checkpoint_loader import CheckpointLoader
from scenarios.commands.run import PreparedRun, carry_through, show_outcome
from scenarios.data.datasets import Location
from scenarios.data.feature_files import SUFFIX
from scenarios.options import ModelOptions, names, position
from scenarios.study.plan import BUILT_IN
from scenarios.user_code import UserCode, source_of

_ORDERS = TypeAdapter(dict[str, list[StrictInt]])
_MOST_CLASSES = 100_000  # of one range: more is taken for a typing error


def probe_model(target: str, options: ModelOptions) -> bool:
    """Measure how much each layer of a user's networks retains.

    Args:
        target: MODULE:FACTORY of the network, or the folder of a recorder, with `--network`.
        options: The flags.

    Returns:
        Whether no job failed.

    Raises:
        InputError: As `scenarios.commands.run.carry_through`, and for flags and files that do not
            fit.
    """
    reading = _reading(options)
    recording = None if reading else _recording(target, options)
    user_code = _user_code(_factory(target, options), recording, options)
    if reading:
        user_code = replace(user_code, class_order=reading.class_order or ())
    with user_code.opened(BUILT_IN), TemporaryDirectory() as scratch:
        network = user_code.network_entry().name
        name = options.out.name if options.out else f"model-{network}"
        name = re.sub(r"[^A-Za-z0-9._-]", "-", name)
        root = options.out or Path("runs") / name
        if reading:
            if reading.class_order is None:
                print("note: the labels of the data are taken as the indices of the outputs")
            refuse_foreign(root)
            checkpoints = reading.keep((Path(scratch) if options.dry_run else root) / "checkpoints")
        else:
            checkpoints = _checkpoints(recording, options)
        if recording and not options.call:
            options = replace(options, head=options.head or recording.head)
        loader = CheckpointLoader(
            user_code=user_code,
            name=name,
            network=network,
            data=user_code.data_entry().name if user_code.data else str(options.data),
            checkpoints=checkpoints,
            records=recording.records if recording else {},
            reference=recording.reference if recording else None,
            tasks=_tasks(recording or reading, options),
            orders=_orders(recording, options),
            options=options,
            code=source_of("network", network),
            location=Location(),
        )
        show = partial(show_outcome, trained=False)
        return carry_through(partial(_prepare, loader), options.of_run, root, show)


def _prepare(loader: CheckpointLoader, device: torch.device) -> PreparedRun:
    location = Location(files=loader.location.stamps(loader.data))
    networks = loader.networks(device, partial(tracked, label="reading checkpoints"))
    return PreparedRun(
        plan=networks.plan,
        loader=replace(loader, location=location),
        caches=partial(loader.caches, networks.plan),
        sizes=[len(task.train) for task in networks.scenario.tasks],
    )


def _reading(options: ModelOptions) -> ForeignRuns | None:
    """Return the runs of another framework, None where none is named."""
    if options.from_ is None:
        return None
    if options.from_ not in READERS:
        raise unknown("framework", options.from_, READERS)
    if options.checkpoints is None or options.offline is not None:
        raise InputError(f"--from {options.from_} reads --checkpoints DIR, without --offline")
    return READERS[options.from_](Path(options.checkpoints))


def _recording(target: str, options: ModelOptions) -> Recording | None:
    """Return a recorder's recording, None for files named by a pattern."""
    for folder in filter(None, (target, options.checkpoints)):
        if not Path(folder).is_dir():
            continue
        if not (Path(folder) / "runs").is_dir():
            raise InputError(
                f"{folder} is a folder without a recording: name its files, as --checkpoints "
                f"'{folder}/seed{{seed}}-task{{task}}.pt', or give one that probe.Recorder has "
                f"filled"
            )
        return read_recording(folder)
    return None


def _factory(target: str, options: ModelOptions) -> str:
    """Return the network's factory; raises InputError where it is named twice or not at all."""
    is_folder = bool(target) and Path(target).is_dir()
    if is_folder != (options.network is not None):
        raise InputError(
            f"expected the network once, as MODULE:FACTORY or, for a folder, as --network m:build, "
            f"got {target} and --network {options.network or 'left out'}"
        )
    if is_folder and options.checkpoints is not None:
        raise InputError(f"{target} is a folder of checkpoints: leave out --checkpoints")
    return options.network or target


def _user_code(factory: str, recording: Recording | None, options: ModelOptions) -> UserCode:
    """Return the user's code named by the flags; raises InputError without data."""
    data = options.data
    if data is None and recording and recording.data:
        data = str(recording.data.absolute())
    if data is None:
        # What a recording names may be code, and only what the user types is imported.
        reference = recording.reference if recording else None
        name = reference.name if reference else "MODULE:LOAD"
        raise InputError(
            f"there are no data: give --data {name}, a function that returns (train, test), or "
            f"feature files, or record them, by Recorder(train=...)"
        )
    if recording and recording.called and options.call is None:
        raise InputError("the recorded network was called by a function: name it, --call m:f")
    return UserCode(
        loads=options.load or (),
        network=factory,
        output=recording.output if recording and not options.output else position(options.output),
        call=options.call or "",
        data="" if data.endswith(SUFFIX) else data,
    )


def _checkpoints(recording: Recording | None, options: ModelOptions) -> Checkpoints:
    """Return the files of all networks."""
    if recording is None:
        if not options.checkpoints:
            raise InputError(
                "there are no checkpoints: give --checkpoints 'ckpt/seed{seed}-task{task}.pt', as "
                "your files are named, or the folder of a probe.Recorder"
            )
        return Checkpoints.find(options.checkpoints, options.offline, options.learner)
    if options.offline is not None:
        raise InputError("--offline is for files that are named by --checkpoints: leave it out")
    return recording.checkpoints


def _tasks(
    runs: Recording | ForeignRuns | None, options: ModelOptions
) -> tuple[tuple[int, ...], ...] | None:
    """Return the classes of each task, None where the examples must have their tasks."""
    if options.tasks is not None:
        return as_tasks(classes_of_tasks(options.tasks))
    return None if runs is None or runs.tasks is None else as_tasks(runs.tasks)


def classes_of_tasks(text: str) -> list[list[int]]:
    """Return the classes of each task; raises InputError for any other text.

    >>> classes_of_tasks("0-2,3+5,4")
    [[0, 1, 2], [3, 5], [4]]
    """
    tasks = []
    for task in names(text):
        limits = re.fullmatch(r"(\d{1,9})-(\d{1,9})", task)
        if limits and 0 <= int(limits[2]) - int(limits[1]) < _MOST_CLASSES:
            tasks.append(list(range(int(limits[1]), int(limits[2]) + 1)))
        elif re.fullmatch(r"\d{1,9}(\+\d{1,9})*", task):
            tasks.append(list(map(int, task.split("+"))))
        else:
            raise InputError(
                f"--tasks expects classes, as 0-1,2-3 or 0+5,1+6, got {task!r} in {text!r}"
            )
    return tasks


def _orders(recording: Recording | None, options: ModelOptions) -> Any:
    """Return the orders as a rule or by name, None for only the base order."""
    if options.orders is None:
        if recording is None:
            return None
        return {name: [task + 1 for task in order] for name, order in recording.orders.items()}
    if not options.orders.endswith(".toml"):
        return options.orders
    try:
        return _ORDERS.validate_python(tomllib.loads(Path(options.orders).read_text("utf-8-sig")))
    except OSError as error:
        reason = error.strerror or str(error)
    except ValidationError as error:
        reason = "; ".join(map(problem, problems(error)))
    except ValueError as error:
        reason = f"not valid TOML: {error}"
    raise InputError(
        f"cannot read --orders {options.orders} ({reason}): give a TOML file that names orders of "
        f"the tasks, from 1, as a = [2, 1, 3]"
    )
