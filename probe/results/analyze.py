"""`probe.analyze`: measure networks that were trained elsewhere, in memory or in files."""

from __future__ import annotations

import re
import sys
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os.path import isdir
from pathlib import Path
from typing import Literal, cast

import torch
from torch import nn

from probe.arguments import checked
from probe.by_layer.engine import measure, offline_network
from probe.by_layer.jobs import Job, jobs_of
from probe.by_layer.network_source import NetworkSource
from probe.by_layer.plan import OFFLINE, Plan
from probe.by_layer.probing import Measure
from probe.by_layer.source_description import SourceDescription
from probe.by_layer.source_plan import plan_by_reading
from probe.by_layer.store import InMemory
from probe.by_layer.trained_networks import LEARNER, TrainedNetworks, trained_networks
from probe.cut.model_call import Called
from probe.devices import device_named
from probe.errors import InputError
from probe.examples import match_inputs
from probe.extensions import NetworkEntry, marks_of
from probe.files import make_folder
from probe.locks import lock
from probe.metrics.murata import RETRAIN
from probe.model import Model, Networks
from probe.modules import device_of
from probe.progress import tracked
from probe.readouts.readout import Readout
from probe.record.data import load_data
from probe.record.recording import Recording, read_recording
from probe.results.analysis import Analysis
from probe.results.job import measure_job
from probe.results.one_pair import explained_pair, trained_floor
from probe.results.precision import resolve_precision
from probe.results.records import Records
from probe.results.run_directory import (
    describe,
    refuse_foreign,
    remove_locks,
    results_hash,
    survey,
)
from probe.results.tables import tables_of, write_tables
from probe.retraining import RetrainSettings
from probe.seeding import one_at_a_time
from probe.source import source_hash
from probe.tables.folder import read_tables
from probe.tables.matrices import Matrices
from probe.task_aware import make_task_aware
from probe.tasked_examples import Data, TaskedExamples, Tasks, as_examples, assign_tasks
from probe.tasks import Scenario
from probe.training.recipe import Recipe
from probe.values.allocation import CacheSettings

DATA = "data"
"""The default name of data in tables."""

_FEWEST = 2  # test examples of a task, of which a single one has no variance


@one_at_a_time
@checked
def analyze(
    models: Model | Networks,
    train: Data | None = None,
    test: Data | None = None,
    tasks: Tasks = None,
    features: Sequence[str] | Literal["auto"] = "auto",
    untrained: nn.Module | None = None,
    offline: nn.Module | str | Path | None = None,
    readouts: Measure | Sequence[str | Readout] = (RETRAIN, "linear"),
    recipe: Recipe | None = None,
    out: str | Path | None = None,
) -> Analysis:
    """Measure how much each layer of continually trained networks retains.

    >>> import probe, torch
    >>> from torch import nn
    >>> net = lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> x, y = torch.randn(8, 4), torch.arange(8) % 2
    >>> after_task_1, after_task_2 = net(), net()  # as you have trained them
    >>> result = probe.analyze(
    ...     {1: after_task_1, 2: after_task_2}, (x, y), (x, y), tasks=[[0], [1]], untrained=net()
    ... )
    >>> result.features, result.matrix("1", "linear").values.shape
    (('1', '2'), (3, 2))

    Downstream of each feature of each network, each readout is trained on `train` and
    tested on `test`: A[l, t, j], an accuracy matrix for every layer. Retraining is
    measured before any task and after all of them, as all rows would take T times as
    long; the other readouts are measured after every task that has a network. Choose
    other steps by `Measure`. No network is changed.

    From three trainings on, intervals are over seeds and test examples, and speak of
    this way of training. Else they are over test examples, and over retrainings if
    these are repeated, and speak of these networks.

    Args:
        models: Networks of the same architecture by number of tasks learned, from 0 to
            T; the last is required; or these by seed, `{0: {1: ..., 2: ...}, 1: ...}`.
            Or their files: a path for each, a pattern of several runs such as
            `ckpt/{learner}-order{order}-seed{seed}-task{task}.pt`, or the folder of a
            `probe.Recorder`. `Model(models, ...)` defines how to call networks and how
            to make a new one; files need the latter (`Model(pattern, fresh=build)`).
            Networks in memory are measured where they are, those in files on a GPU if
            there is one (`Model(device=)`); of data too large for it, batches are
            copied there.
        train: Examples of all tasks: `Examples`, a pair (x, y) of tensors or arrays, a
            Dataset or a DataLoader; or a list of these, one for each task; class labels
            0..K-1.
        test: Test examples, in the same form as `train`.
        tasks: The classes of each of T tasks in base order, each class in exactly one.
            Not needed if a list or `Examples` give the task of each example, or for a
            recorder's folder.
        features: Dotted module names; `auto` = the features of `@probe.network`, or a
            suggested set. The output is always included.
        untrained: The network before any training, the floor; the same as row 0 of
            models. If it is missing, fresh weights are drawn where a function or rule
            can. Its batch norm gets the statistics of the training inputs: the initial
            ones would make the floor too low.
        offline: The network trained on all tasks at once, the ceiling; for files a path
            or a pattern with {seed}; or `train`, to train it here by the recipe.
        readouts: Names of readouts: `retrain`, which retrains the network's own layers
            (Murata 2020), `linear`, `linear-task`, `ncm`, `knn`; or settings such as
            `Linear(C=0.1)`; or a `Measure`. At the output, every readout is the
            prediction of the network itself, for `linear-task` among a task's classes.
        recipe: The recipe of the retraining and the offline training; None = the
            defaults, with at least 1,000 steps, as 5 epochs of few examples rebuild
            little.
        out: A run directory for tables and figures, as `probe model` writes it; the
            same call resumes an interrupted run. The rows are bit for bit the same with
            and without it.

    Returns:
        The tables, with intervals, and the predictions.

    Raises:
        InputError: Before any training: for everything that `partial_retrain` refuses,
            networks of different architectures, rows above T, fewer than 2 test
            examples of a task, and files that are missing, damaged or misnamed.

    Warns:
        UserWarning: Row 0 is a trained network, which is no floor: of one network
            before and one after `probe.diff` tells more.
    """
    measurements = Measure.coerce(readouts)
    model = Model.coerce(models)
    root = _run_directory(out)
    # Networks by seed may hold arrays, which are compared by element.
    trains_offline = isinstance(offline, str) and offline == "train"
    with explained_pair(model.network, train, tasks):
        # Invalid settings are refused before any data are read.
        RetrainSettings(
            recipe=Recipe() if recipe is None else recipe,
            cache=_cache(measurements),
            multiples=measurements.probing.budget,
        )
        model, recording, examples = _complete(model, train, test, tasks)
        if recipe is None:
            recipe = Recipe().long_enough(len(examples.splits["train"]))
        networks = trained_networks(
            model,
            untrained,
            None if trains_offline else offline,
            recording,
            len(examples.classes),
            measurements.seeds,
        )
        examples = _on_device(examples, networks, model.device)
        description = _describe(
            model,
            networks,
            examples,
            features,
            measurements,
            recipe,
            trains_offline,
        )
        description = _with_precision(replace(description, name=_run_name(root)), root)
        source = _read_and_plan(description)
        if root is None:
            analysis = _in_memory(source, _cache(measurements))
        else:
            analysis = _in_directory(root, source, _cache(measurements))
    _warn_of_trained_floor(analysis, description)
    return analysis


def _run_directory(out: object) -> Path | None:
    """Return the run directory, None for none; raises InputError unless it is a path."""
    if not isinstance(out, str | Path | None) or "\0" in str(out):
        raise InputError(
            f"`out` must be a path, got {out!r}: give arguments after tasks by name"
        )
    return None if out is None else Path(out)


def _run_name(root: Path | None) -> str:
    """Return the name of the run: that of its folder, without what no name may have."""
    name = "" if root is None else re.sub(r"[^A-Za-z0-9._-]", "-", root.name)
    return name.lstrip("._-") or "analysis"


def _cache(measurements: Measure) -> CacheSettings:
    return measurements.cache or CacheSettings()


def _describe(
    model: Model,
    networks: TrainedNetworks,
    examples: TaskedExamples,
    features: Sequence[str] | Literal["auto"],
    measurements: Measure,
    recipe: Recipe,
    train_offline: bool,
) -> SourceDescription:
    """Return the networks, data and measurements in one description."""
    model, name, code, marked_features = _identify(model, networks)
    orders = {run.order for run in networks.runs}
    model, examples = make_task_aware(model, examples, networks.blank, orders)
    return SourceDescription(
        name=name,
        network_name=name,
        code=code,
        weights=networks,
        model=model,
        scenario=Scenario.of_examples(DATA, examples),
        orders=model.orders,
        features=marked_features if str(features) == "auto" else features,
        probing=measurements.probing,
        recipe=recipe,
        train_offline=train_offline,
        storage=_cache(measurements).storage,
        readouts=measurements.user_defined,
    )


def _with_precision(
    description: SourceDescription, root: Path | None
) -> SourceDescription:
    """Return the description with the precision that `auto` stands for here."""
    network = Called(description.weights.blank(), description.model.class_call)
    data = description.scenario.tasks[0].train
    recipe = resolve_precision(description.recipe, network, data, data.y.device, root)
    return replace(description, recipe=recipe)


def _read_and_plan(description: SourceDescription) -> NetworkSource:
    """Read all networks, and return their source with its plan."""
    plan = plan_by_reading(description)
    source = NetworkSource(description, plan)
    networks = description.weights
    if networks.build is None:
        # The cuts are those of the last network, which is the first to be looked at.
        by_tasks_seen = next(iter(networks.runs.values()))
        last = cast(nn.Module, by_tasks_seen[len(plan.tasks)])
        source.share_cuts(last, plan.learners[LEARNER].features[:-1])
    return source


def _warn_of_trained_floor(analysis: Analysis, description: SourceDescription) -> None:
    """Warn if row 0 is a trained network, unless it has weights that were drawn here."""
    runs = description.weights.runs.values()
    if not any(0 in by_tasks_seen for by_tasks_seen in runs):
        return
    matrices = Matrices(analysis.measurements())
    for warning in trained_floor(matrices, description.scenario):
        # The warning points to the caller of `analyze`, which is decorated.
        warnings.warn(warning, stacklevel=5)


def _jobs(plan: Plan) -> list[Job]:
    """Return the jobs of a plan, the controls of a seed first."""
    return sorted(jobs_of(plan), key=lambda job: (job.seed, not job.offline))


def _in_memory(source: NetworkSource, cache: CacheSettings) -> Analysis:
    """Measure networks in memory."""
    plan = source.plan
    stores = {job: InMemory() for job in _jobs(plan)}
    ceilings = {job.seed: job for job in stores if job.kind == OFFLINE}
    for job in tracked(list(stores), "networks"):
        ceiling = ceilings.get(job.seed, job)
        offline = partial(offline_network, source, ceiling, stores[ceiling])
        deque(measure(source, job, stores[job], cache, offline), maxlen=0)
    records = Records(
        plan=plan,
        measurements={job.name: store.measurements() for job, store in stores.items()},
    )
    return Analysis(tables_by_name=tables_of(records.predictions()), records=records)


def _in_directory(root: Path, source: NetworkSource, cache: CacheSettings) -> Analysis:
    """Measure networks into a run directory, from wherever an earlier call stopped."""
    plan = source.plan
    refuse_foreign(root)
    make_folder(root)
    with lock(root, wait=True):
        describe(root, plan)
    for job in tracked(_jobs(plan), "networks"):
        deque(measure_job(plan, root, job, lambda: source, cache, wait=True), maxlen=0)
    with lock(root, wait=True):
        states = survey(plan, root)
        remove_locks(root, states)
        write_tables(plan, root)
        describe(root, plan, results_hash(states))
    analysis = Analysis(tables_by_name=read_tables(root), records=Records.read(root))
    analysis.plot.write(root)
    analysis.report(root / "report.html")
    return analysis


def _complete(
    model: Model, train: Data | None, test: Data | None, tasks: Tasks
) -> tuple[Model, Recording | None, TaskedExamples]:
    """Return the arguments, completed with the settings and data that a recorder saved."""
    recording = None
    if isinstance(model.network, str | Path) and isdir(model.network):
        recording = read_recording(model.network)
        model = _as_recorded(model, recording)
        tasks = recording.checked_tasks(tasks)
        if train is None and test is None and recording.data:
            train, test = load_data(recording.data)
    reference = recording and recording.reference
    if train is None or test is None:
        where = f", those that {reference.name} gives" if reference else ""
        raise InputError(
            f"`train` and `test` are needed{where}: give them, or record with train="
        )
    if reference:
        train = as_examples(train, "train")
        test = as_examples(test, "test")
        reference.check(train, test)
    return (
        model,
        recording,
        assign_tasks({"train": train, "test": test}, tasks, model.classes),
    )


def _as_recorded(model: Model, recording: Recording) -> Model:
    """Return the model with the call settings of a recording."""
    if recording.called and model.call is None:
        raise InputError(
            "the recorded network was called by a function, which is not saved: give "
            "it again as Model(rec, call=...)"
        )
    orders: dict[str, list[int]] = {}
    for name, tasks in recording.orders.items():
        orders[name] = [task + 1 for task in tasks]
    output = recording.output if model.output is None else model.output
    head = model.head or (None if model.call_is_task_aware else recording.head)
    return replace(model, output=output, head=head, orders=model.orders or orders)


def _on_device(
    examples: TaskedExamples, networks: TrainedNetworks, name: str
) -> TaskedExamples:
    """Return the examples on the networks' device; raises InputError unless each task has some."""
    train, test = match_inputs(*examples.splits.values())
    for number, count in enumerate(examples.sizes("test"), 1):
        if count < _FEWEST:
            raise InputError(
                f"task {number} has {count} test examples, expected {_FEWEST} or more"
            )
    device = _device_of(networks, name, train.y.device)
    return replace(
        examples, splits={"train": train.to(device), "test": test.to(device)}
    )


def _device_of(
    networks: TrainedNetworks, name: str, device: torch.device
) -> torch.device:
    """Return the device on which networks are measured.

    Args:
        networks: The networks.
        name: The name of the device, or `auto`.
        device: The device of the data.
    """
    is_free = networks.build is not None
    if not is_free:
        device = device_of(networks.blank())
    if name == "auto" and (device.type != "cpu" or not is_free):
        return device
    asked = device_named(name)
    if not is_free and (asked.type, asked.index or 0) != (
        device.type,
        device.index or 0,
    ):
        raise InputError(
            f"device={name!r}, but the networks are on {device}: move them there"
        )
    if name == "auto" and asked.type == "cuda":
        print(
            f"networks are measured on {torch.cuda.get_device_name()}", file=sys.stderr
        )
    return asked


def _identify(
    model: Model, networks: TrainedNetworks
) -> tuple[Model, str, str, Sequence[str] | None]:
    """Return the model with the settings of its mark, and its name, code hash and features."""
    network = networks.blank()
    types = {type(module) for module in network.modules()}
    user_types = sorted(
        (t for t in types if not t.__module__.startswith("torch.")), key=str
    )
    code = source_hash(*model.build_by_learner.values(), model.call, *user_types)
    for mark in marks_of(model.build, NetworkEntry):
        output = mark.output if model.output is None else model.output
        model = replace(model, output=output, call=model.call or mark.call)
        return model, mark.name, code, mark.features
    return model, type(network).__name__, code, None
