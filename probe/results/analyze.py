"""The analysis of given networks, in memory or in files: A[l, t, j]."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from filelock import FileLock
from torch import nn

from probe.batch import first
from probe.by_layer.engine import measure, offline_network
from probe.by_layer.given import Files, GivenNetworks, Models, spoken
from probe.by_layer.jobs import Job, jobs_of
from probe.by_layer.measure import Measure
from probe.by_layer.plan import OFFLINE, Plan
from probe.by_layer.request import Request
from probe.by_layer.store import InMemory, Results
from probe.cut.model_call import Called
from probe.errors import InputError
from probe.examples import alike
from probe.files import make_folder
from probe.metrics.murata import RETRAIN
from probe.model import Model, Networks
from probe.numbered import Data, Numbered, Tasks, examples_of, numbered
from probe.progress import tracked
from probe.readouts.readout import Readout, nameable
from probe.record.checkpoints import Run
from probe.record.recording import Recording, load_data, read_recording
from probe.registered import OwnNetwork, marks_of
from probe.results.analysis import Analysis
from probe.results.networks import LEARNER, ORDER, device_of, networks_of
from probe.results.precision import settled
from probe.results.records import Records
from probe.results.result import result_of
from probe.results.run_directory import describe, made_of, refuse_foreign, store_of, survey
from probe.results.tables import tables_of, write_tables
from probe.retrain import SAMPLE
from probe.retraining import RetrainSettings
from probe.source import hash_of, source_hash
from probe.tables.folder import Tables, read_tables
from probe.tasks import Scenario
from probe.told import told
from probe.training.recipe import Recipe
from probe.values.allocation import CacheSettings

DATA = "data"
"""The name in tables of data that have no other."""

_FEWEST = 2  # test examples of a task, of which one alone has no variance


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
    >>> found = probe.analyze(
    ...     {1: after_task_1, 2: after_task_2}, (x, y), (x, y), tasks=[[0], [1]], untrained=net()
    ... )
    >>> found.features, found.matrix("1", "linear").values.shape
    (('1', '2'), (3, 2))

    Downstream of each feature of each network, each readout is trained on `train` and tested on
    `test`: A[l, t, j], an accuracy matrix for every layer. Retraining is measured before any task
    and after all of them, as all rows would take T times as long; the other
    readouts are measured after every task that has a network. Choose other steps by `Measure`. No
    network is changed.

    - models: by tasks learned, from 0 to T, the last of which is needed; of one architecture. Or
      files: a path for each, or a pattern as `ckpt/{learner}-order{order}-seed{seed}-task{task}.pt`
      of several runs, or the folder of a `probe.Recorder`. `Model(models, ...)` says how to
      call them and make a new one, which files need (`Model(pattern, fresh=build)`);
    - train, test: the data of all tasks: `Examples`, a pair (x, y) of tensors or arrays, a Dataset
      or a DataLoader; or a list of these, one for each task; class labels 0..K-1; tasks: unless a
      list or `Examples` tell the task of each, the classes of each of T tasks in base order, each
      class in exactly one; a recorder's folder has them;
    - features: dotted module names; `auto` = those of `@probe.network`, or a good set. The output
      is always among them;
    - untrained: the network before any training, the floor; the same as row 0 of models. Without
      it fresh weights are drawn, where a function or rule can. Its batch norm gets the statistics
      of the training inputs: its initial ones would make the floor too low;
    - offline: the network trained on all tasks at once, the ceiling; for files a path or a pattern
      with {seed}; or `train`, to train it here by the recipe;
    - readouts: `retrain`, the layers of the network itself (Murata 2020); `linear`, `linear-task`,
      `ncm`, `knn`, or their settings, such as `Linear(C=0.1)`; or a `Measure`. At the output every
      readout is the prediction of the network itself, for `linear-task` among a task's classes;
    - recipe: of the retraining and the offline training;
    - out: a run directory for tables and figures, as `probe model` writes it; the same call resumes
      an interrupted run. The rows are the same with and without it, to the bit.

    Several seeds give intervals: over runs or, for the networks of one training, over retrainings
    and test examples alone. Raises InputError before any training for everything that
    `partial_retrain` refuses, for networks of different architectures, for rows that T tasks do not
    have, for fewer than 2 test examples of a task, and for files that are missing, damaged or
    misnamed.
    """
    measured, model = Measure.of(readouts), Model.around(models)
    if not isinstance(out, str | Path | None):
        raise InputError(f"out is a run directory, got {out!r}: give arguments after tasks by name")
    root = None if out is None else Path(out)
    with nameable(measured.user_defined):
        how = RetrainSettings(
            recipe=Recipe() if recipe is None else recipe,
            cache=measured.cache,
            multiples=measured.probing.budget,
        )
        cache = measured.cache or CacheSettings()
        model, recording, examples = _completed(model, train, test, tasks)
        T = len(examples.classes)
        networks = networks_of(model, (untrained, offline), recording, T, measured.seeds)
        examples = _data(examples, networks)
        model, name, source, marked = _named(model, networks)
        model, examples = told(
            model, examples, networks.blank, {run.order for run in networks.runs}
        )
        request = Request(
            name=_run_name(root),
            network=name,
            source=source,
            networks=networks,
            model=model,
            scenario=Scenario.of_numbered(DATA, examples),
            orders=model.orders,
            features=marked if isinstance(features, str) and features == "auto" else features,
            probing=measured.probing,
            recipe=how.recipe,
            train_offline=offline == "train",
            storage=cache.storage,
            readout_sources={n: hash_of(own) for n, own in measured.user_defined.items()},
        )
        called, data = Called(networks.blank(), model.class_call), request.scenario.tasks[0].train
        chosen = settled(how.recipe, called, data, data.y.device, root)
        given = replace(request, recipe=chosen).given()
        if isinstance(networks, Models):
            _check_alike(given, networks)
        if root is None:
            return _in_memory(given, cache)
        return _into(root, given, cache)


def _measured(
    given: GivenNetworks, cache: CacheSettings, results_of: Callable[[Job], Results]
) -> dict[Job, Results]:
    """Measure each job, the controls of a seed first; return where the results are."""
    jobs = sorted(jobs_of(given.plan), key=lambda job: (job.seed, not job.offline))
    each = {job: results_of(job) for job in jobs}
    for job in tracked(jobs, "networks"):
        ceiling = next((own for own in jobs if (own.kind, own.seed) == (OFFLINE, job.seed)), job)
        offline = partial(offline_network, given, ceiling, each[ceiling])
        for _ in measure(given, job, each[job], cache, offline):
            pass
    return each


def _in_memory(given: GivenNetworks, cache: CacheSettings) -> Analysis:
    """Measure networks in memory."""
    plan = given.plan
    each = _measured(given, cache, lambda _: InMemory())
    results = [result_of(plan, job, each[job].measurements()) for job in jobs_of(plan)]
    tables = {name: list(rows) for name, rows in tables_of(plan, results).items()}
    return _analysis(plan, tables, each)


def _into(root: Path, given: GivenNetworks, cache: CacheSettings) -> Analysis:
    """Measure networks into a run directory, from wherever an earlier call stopped."""
    plan = given.plan
    refuse_foreign(root)
    make_folder(root)
    with FileLock(root / "lock"):
        describe(root, plan)
    with ExitStack() as locks:

        def results_of(job: Job) -> Results:
            folder = root / "jobs" / job.name
            make_folder(folder)
            locks.enter_context(FileLock(folder / "lock"))
            store = store_of(plan, root, job)
            store.sweep()
            return store

        each = _measured(given, cache, results_of)
    with FileLock(root / "lock"):
        states = survey(plan, root)
        write_tables(plan, root)
        describe(root, plan, made_of(states))
    analysis = _analysis(plan, read_tables(root), each)
    analysis.plot.write(root)
    analysis.report(root / "report.html")
    return analysis


def _analysis(plan: Plan, tables: Tables, results: Mapping[Job, Results]) -> Analysis:
    """Return an analysis with its predictions; tables without rows are left out."""
    measurements = {job.name: each.measurements() for job, each in results.items()}
    return Analysis(
        given={name: rows for name, rows in tables.items() if rows},
        records=Records(plan=plan, measurements=measurements),
    )


def _completed(
    model: Model, train: Data | None, test: Data | None, tasks: Tasks
) -> tuple[Model, Recording | None, Numbered]:
    """Return the arguments, completed by those that a recorder has saved."""
    recording = None
    if isinstance(model.of, str | Path) and Path(model.of).is_dir():
        recording = read_recording(model.of)
        model = _as_recorded(model, recording)
        tasks = recording.tasks if tasks is None else tasks
        if train is None and test is None and recording.data:
            train, test = load_data(recording.data)
    known = recording and recording.reference
    if train is None or test is None:
        where = f", those that {known.name} gives" if known else ""
        raise InputError(
            f"train and test are needed{where}: give them, or the folder of a recorder that has "
            f"kept them by train="
        )
    if known:
        train, test = examples_of(train, "train"), examples_of(test, "test")
        known.check(train, test)
    return model, recording, numbered({"train": train, "test": test}, tasks, model.classes)


def _as_recorded(model: Model, recording: Recording) -> Model:
    """Return the model as a recording says that it is called."""
    if recording.called and model.call is None:
        raise InputError(
            "the recorded network was called by a function: give that function again, as "
            "Model(rec, call=...)"
        )
    orders = {name: [task + 1 for task in own] for name, own in recording.orders.items()}
    output = recording.output if model.output is None else model.output
    head = model.head or (None if model.takes_task else recording.head)
    return replace(model, output=output, head=head, orders=model.orders or orders)


def _data(examples: Numbered, networks: Files | Models) -> Numbered:
    """Return the examples on the networks' device; raises InputError unless each task has some."""
    train, test = alike(*examples.halves.values())
    for number, count in enumerate(sizes := examples.sizes("test"), 1):
        if count < _FEWEST:
            raise InputError(
                f"task {number} of {len(sizes)} has {count} test examples, expected {_FEWEST} or "
                f"more: add some"
            )
    device = train.y.device if isinstance(networks, Files) else device_of(networks.blank())
    return replace(examples, halves={"train": train.to(device), "test": test.to(device)})


def _named(model: Model, networks: Files | Models) -> tuple[Model, str, str, Sequence[str] | None]:
    """Return the model with all that its mark says, and its name, code hash and features."""
    blank = networks.blank()
    own = {type(each) for each in blank.modules()}
    kinds = sorted((k for k in own if not k.__module__.startswith("torch.")), key=str)
    source = source_hash(model.build, model.call, *kinds)
    for mark in marks_of(model.build, OwnNetwork):
        output = mark.output if model.output is None else model.output
        model = replace(model, output=output, call=model.call or mark.call)
        return model, mark.name, source, mark.features
    return model, type(blank).__name__, source, None


def _run_name(root: Path | None) -> str:
    """Return a name for the run, made from its directory's name."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", root.name if root else "").lstrip("._-") or "analysis"


def _check_alike(given: GivenNetworks, networks: Models) -> None:
    """Raise InputError unless all networks are of one architecture, on one device."""
    T, runs = len(given.plan.tasks), networks.runs
    last = runs[Run(LEARNER, ORDER, 0)][T]
    features = given.plan.learners[LEARNER].features[:-1]
    cuts = given.shared_cuts(last, features, first(given.scenario.test.x, SAMPLE))
    for run, own in runs.items():
        for tasks_seen, model in own.items():
            if where := cuts.difference(model):
                raise InputError(
                    f"{spoken(run, tasks_seen)} is of another architecture than "
                    f"{spoken(Run(LEARNER, ORDER, 0), T)}, which differs at {where!r}: give models "
                    f"of one architecture"
                )
