"""`probe model`: the analysis of a user's checkpoints, with tables and figures."""

import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from pydantic import StrictInt, TypeAdapter, ValidationError

from probe.by_layer.network_source import NetworkSource
from probe.by_layer.source_plan import plan_by_reading
from probe.errors import InputError, check_known
from probe.metrics.task_predictions import TaskClasses
from probe.model import is_task_aware
from probe.progress import tracked
from probe.record.checkpoints import Checkpoints
from probe.record.readers.foreign_runs import ForeignRuns
from probe.record.readers.frameworks import READERS
from probe.record.recording import Recording, read_recording
from probe.results.run_directory import refuse_foreign
from probe.tasked_examples import as_tasks
from probe.validation import problem, problems
from scenarios.checkpoint_loader import CheckpointLoader
from scenarios.commands.run import run_plan
from scenarios.data.datasets import Location
from scenarios.data.feature_files import SUFFIX
from scenarios.options import ModelOptions, names, position
from scenarios.study.plan import BUILT_IN, Prepared
from scenarios.study.study_toml import read_toml
from scenarios.user_code import UserCode
from scenarios.user_objects import SOURCE_HASHES

_ORDERS = TypeAdapter(dict[str, list[StrictInt]])


def probe_model(target: str, options: ModelOptions) -> bool:
    """Measure how much each layer of a user's networks retains.

    Args:
        target: The network, MODULE:FACTORY; or the folder of a recorder, with
            `--network`.
        options: The flags of `probe model`.

    Returns:
        Whether no job failed.

    Raises:
        InputError: Flags, files, data or networks cannot be used; nothing is written
            then.
    """
    runs = _runs(target, options)
    recording = runs if isinstance(runs, Recording) else None
    user_code = _user_code(target, recording, options)
    if isinstance(runs, ForeignRuns):
        user_code = replace(user_code, class_order=runs.class_order or ())
    with user_code.opened(BUILT_IN), TemporaryDirectory() as scratch:
        network = user_code.network_entry().name
        name = options.out.name if options.out else f"model-{network}"
        name = re.sub(r"[^A-Za-z0-9._-]", "-", name)
        root = options.out or Path("runs") / name
        refuse_foreign(root)
        folder = (Path(scratch) if options.dry_run else root) / "checkpoints"
        checkpoints = _checkpoints(runs, folder, options)
        if recording:
            options = replace(options, head=options.head or recording.head)
        loader = CheckpointLoader(
            user_code=user_code,
            name=name,
            network=network,
            data=user_code.data_entry().name if user_code.data else str(options.data),
            checkpoints=checkpoints,
            recording=recording,
            tasks=_tasks(runs, options),
            orders=_orders(recording, options),
            options=options,
            code=SOURCE_HASHES.get(f"network {network}"),
            location=Location(),
        )
        return run_plan(
            partial(_prepare, loader),
            options.of_run,
            root,
            _diff_command(user_code, checkpoints, options),
            trained=False,
        )


def _diff_command(
    user_code: UserCode, checkpoints: Checkpoints, options: ModelOptions
) -> str:
    """Return the command that compares the first run's last two networks.

    The result is "" if it has only one, their call takes the task, or there are several
    learners.
    """
    learners = {run.learner for run in checkpoints.runs}
    pair = [*next(iter(checkpoints.runs.values())).values()][-2:]
    call = user_code.network_entry().call
    if len(pair) < 2 or len(learners) != 1 or (call and is_task_aware(call)):
        return ""
    module = user_code.network.rpartition(":")[0]
    values = {
        "model": user_code.network,
        "old": f"{module}:old",
        "new": f"{module}:new",
        "call": user_code.call,
        "output": user_code.output,
        "weights": options.weights,
    }
    words = ["probe", "diff", *map(str, pair)]
    for name, value in values.items():
        if value not in (None, ""):
            words += [f"--{name}", str(value)]
    return shlex.join(words)


def _prepare(loader: CheckpointLoader, device: torch.device) -> Prepared:
    """Return the networks in the files, their loader and the sizes of the tasks, on a device."""
    location = Location(files=loader.location.stamps(loader.data))
    networks = loader.networks(device, partial(tracked, label="reading checkpoints"))
    source = NetworkSource(networks, plan_by_reading(networks))
    sizes = [(len(task.train), len(task.test)) for task in source.scenario.tasks]
    return source, replace(loader, location=location).source, sizes


def _tasks(
    runs: Recording | ForeignRuns | None, options: ModelOptions
) -> TaskClasses | None:
    """Return the classes of each task, None if the data have tasks."""
    named = None
    if options.tasks is not None:
        named = as_tasks(classes_of_tasks(options.tasks))
    if isinstance(runs, Recording):
        return runs.checked_tasks(named)
    return named or (runs.tasks if runs else None)


def _runs(target: str, options: ModelOptions) -> Recording | ForeignRuns | None:
    """Return a recording or another framework's runs, None if a pattern names the files."""
    if options.from_ is None:
        folders = [folder for folder in (target, options.checkpoints) if folder]
        return next((read_recording(f) for f in folders if Path(f).is_dir()), None)
    check_known("framework", options.from_, READERS)
    if options.checkpoints is None:
        raise InputError(
            f"--from {options.from_} reads a folder: give --checkpoints DIR"
        )
    return READERS[options.from_](Path(options.checkpoints))


def _user_code(
    target: str, recording: Recording | None, options: ModelOptions
) -> UserCode:
    """Return the user's code named by the flags; raises InputError without network or data."""
    is_folder = bool(target) and Path(target).is_dir()
    if is_folder != (options.network is not None):
        raise InputError(
            "give the network once: MODULE:FACTORY, or DIR --network m:build; "
            f"got {target}, --network {options.network or 'left out'}"
        )
    if is_folder and options.checkpoints is not None:
        raise InputError(
            f"{target} is a folder of checkpoints: leave out --checkpoints"
        )
    data = options.data
    output = position(options.output)
    if recording:
        output = output if options.output else recording.output
        data = data or (str(recording.data.absolute()) if recording.data else None)
        if recording.called and options.call is None:
            raise InputError(
                "the recorded network was called by a function: give --call m:f"
            )
    if data is None:
        # The source that a recording names is not imported: only what the user types is.
        reference = recording.reference if recording else None
        raise InputError(
            "there are no data: give --data "
            f"{reference.name if reference else 'MODULE:LOAD'}, which returns (train, "
            "test), or FILE.npz"
        )
    network, *networks = options.networks.values()
    # A value MODULE:FUNCTION of --load reads files, others register objects.
    loads = options.load or ()
    functions = [load for load in loads if re.search(r":\w+$", load)]
    return UserCode(
        loads=tuple(load for load in loads if load not in functions),
        more=(*functions, *networks),
        network=network or target,
        output=output,
        call=options.call or "",
        data="" if data.endswith(SUFFIX) else data,
    )


def _checkpoints(
    runs: Recording | ForeignRuns | None, folder: Path, options: ModelOptions
) -> Checkpoints:
    """Return the files of all networks; those of another framework are converted into a folder."""
    if runs is None and options.checkpoints:
        return Checkpoints.find(options.checkpoints, options.offline, options.learner)
    if runs is None:
        raise InputError(
            "there are no networks: give "
            "--checkpoints 'ckpt/seed{seed}-task{task}.pt', as your files are named, "
            "or a recorder's folder"
        )
    if options.offline is not None:
        raise InputError(
            "--offline is only for a pattern in --checkpoints: leave it out"
        )
    if isinstance(runs, Recording):
        return runs.checkpoints
    if runs.class_order is None:
        print("note: the labels of the data are taken as the indices of the outputs")
    return runs.keep(folder)


def classes_of_tasks(text: str) -> list[list[int]]:
    """Parse the classes of each task; raises InputError if the text has the wrong form.

    >>> classes_of_tasks("0-2,3+5,4")
    [[0, 1, 2], [3, 5], [4]]
    """
    tasks = []
    for task in names(text):
        limits = re.fullmatch(r"(\d{1,9})-(\d{1,9})", task)
        classes = range(int(limits[1]), int(limits[2]) + 1) if limits else range(0)
        # More classes are a typing error.
        if 0 < len(classes) <= 100_000:
            tasks.append(list(classes))
        elif re.fullmatch(r"\d{1,9}(\+\d{1,9})*", task):
            tasks.append(list(map(int, task.split("+"))))
        else:
            raise InputError(
                f"--tasks expects classes, as 0-1,2-3 or 0+5,1+6, got {text!r}"
            )
    return tasks


def _orders(recording: Recording | None, options: ModelOptions) -> Any:
    """Return the orders: a rule, or their tasks from 1 by name; None for only the base order.

    They are those of the flag, a rule or a TOML file, else those of the recording.
    """
    if options.orders is None:
        orders = {}
        for name, order in recording.orders.items() if recording else ():
            orders[name] = [task + 1 for task in order]
        return orders or None
    if not options.orders.endswith(".toml"):
        return options.orders
    try:
        return _ORDERS.validate_python(read_toml(Path(options.orders)))
    except ValidationError as error:
        reason = "; ".join(map(problem, problems(error)))
        raise InputError(
            f"--orders {options.orders}: expected names of orders with the tasks from "
            f"1, as a = [2, 1, 3]; {reason}"
        ) from None
