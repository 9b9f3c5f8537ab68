"""The plan: networks by learner, order, seed and tasks learned, and the measurements made of them.

It is plain data: a run directory describes itself by its plan, so that status, tables and figures
need neither the data nor the user's code. Studies (`scenarios.study`) and given networks
(`probe.by_layer.given`) both become a plan, and one engine carries it out.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from probe.by_layer.fingerprint import RESULTS_VERSION
from probe.by_layer.probing import REESTIMATED, PlannedReadout, ProbingSpec, named, recorded
from probe.by_layer.report import ReportSpec
from probe.errors import InputError
from probe.metrics.murata import RETRAIN
from probe.tables.rows import CONTROLS as CONTROLS, OFFLINE as OFFLINE, UNTRAINED as UNTRAINED
from probe.training.recipe import Recipe
from probe.values.allocation import Storage

Given = Mapping[int, str]
"""A hash of the weights of each network of a run, by the number of tasks learned."""


# Part of a folder's name: that of an edited study.json must not lead elsewhere.
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_-]|\.[0-9])*$", max_length=80)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlannedTask(_Frozen):
    """A task's name and classes."""

    name: str
    classes: tuple[int, ...]


class PlannedLearner(_Frozen):
    """A learner of a plan: its networks, and all of its settings that can change a result.

    - kind: its name in the catalog; modules: of this package that its jobs need besides the engine;
    - listed: False for a floor that was not asked for; offline: it learns all tasks at once, or
      none; task_aware: it must be told the task; own_network: it has an architecture of its own,
      with other layers than the controls;
    - features: by depth, the last is the output; steps: numbers of tasks learned after which there
      is a network;
    - network, settings: as records; training: its recipe;
    - per_class, total, sampling: its exemplars, see `probe.tables.rows.LearnerRow`;
    - given: of networks that are given, by `ORDER/SEED`; empty where they are trained here.
    """

    kind: str
    modules: tuple[str, ...]
    listed: bool = True
    offline: bool = False
    task_aware: bool = False
    own_network: bool = False
    features: tuple[str, ...]
    steps: tuple[int, ...]
    network: Any = None
    settings: dict[str, Any] = {}
    training: Recipe
    per_class: int | None = None
    total: int | None = None
    sampling: str = ""
    given: dict[str, dict[int, str]] = {}

    def given_of(self, order: str, seed: int) -> Given:
        """Return the hashes of a run's networks, none for one that is trained here."""
        return self.given.get(f"{order}/{seed}", {})


class Plan(_Frozen):
    """Everything that determines measurements and tables, except the examples themselves.

    - name: of the study; scenario, kind: the title and kind of the stream; network: its name;
    - tasks: T, in base order; orders: by name, the T tasks as they are learned, from 0; seeds;
    - retraining: the recipe of the retrained tails; storage: of features' values; readouts, budget,
      batch_norm, checkpoints, diagnostics, controls: as in `probe.by_layer.probing.ProbingSpec`;
    - report: the settings of tables and figures;
    - data: hash of all examples; device: `cpu` or `cuda`; torch: its version. Other devices and
      versions do not give the same bits.
    """

    name: str
    scenario: str
    kind: str = "class-incremental"
    network: str
    tasks: tuple[PlannedTask, ...]
    learners: dict[_Name, PlannedLearner]
    orders: dict[_Name, tuple[int, ...]]
    seeds: tuple[int, ...]
    retraining: Recipe
    storage: Storage = "fp32"
    readouts: dict[str, PlannedReadout]
    budget: tuple[int, ...] = (1,)
    batch_norm: str = "kept"
    checkpoints: str = "needed"
    diagnostics: bool = True
    controls: tuple[str, ...] = ()
    report: ReportSpec = ReportSpec()
    data: str
    device: str
    torch: str

    def at(self, readout: str) -> tuple[bool, tuple[int, ...]]:
        """Return whether a readout has controls, and the steps from 1 at which it is measured.

        Of `spread` they are those that it is spread over.
        Raises InputError for steps that T tasks do not have, and for tasks of one class where a
        readout tells apart the classes of a task.
        """
        own, tasks = self.readouts[readout], len(self.tasks)
        alone = [task.name for task in self.tasks if len(task.classes) < 2]
        if own.per_task and alone:
            raise InputError(
                f"probing.readouts.{readout} tells a task's classes apart, and task {alone[0]} has "
                f"only one: leave the readout out, or give every task two classes or more"
            )
        steps = own.steps
        if isinstance(steps, str):
            every = range(1, tasks + 1) if steps in ("all", "spread") else (tasks,)
            return own.controlled, tuple(every)
        if steps[-1] > tasks:
            raise InputError(
                f"probing.readouts.{readout}.steps: there are {tasks} tasks, so steps are from 0 "
                f"to {tasks}, got {steps[-1]}"
            )
        return own.controlled, tuple(tasks_seen for tasks_seen in steps if tasks_seen)

    def variants(self, readout: str) -> tuple[str, ...]:
        """Return the names under which a readout is measured, by budget and statistics."""
        names = [named(each) for each in self.budget] if readout == RETRAIN else [readout]
        if self.batch_norm == "reestimated":
            names += [f"{name}{REESTIMATED}" for name in names]
        return tuple(names)

    def record(
        self, learner: str, order: str, tasks: tuple[int, ...], seed: int, without: int = 0
    ) -> dict[str, Any]:
        """Return everything that can change the results of a job, see `probe.by_layer.jobs.Job`.

        Names of the study, its learners, orders and features are left out, as are its other jobs
        and features and the location of the data. Unused settings count all the same. The processor
        does not count, or no two machines could share a study, although two kinds of CPU may round
        differently. Of this package's code only RESULTS_VERSION counts.
        """
        own = self.learners[learner]
        settings = dict(own.settings)
        if hashes := own.given_of(order, seed):
            settings["networks"] = {str(tasks_seen): each for tasks_seen, each in hashes.items()}
        record: dict[str, Any] = {
            "version": RESULTS_VERSION,
            "data": self.data,
            "classes": [list(self.tasks[task].classes) for task in tasks],
            "tasks": list(tasks),
            "network": own.network,
            "learner": settings,
            "training": recorded(own.training),
            "seed": seed,
            "device": self.device,
            "torch": self.torch,
        }
        if not own.offline:
            # Nothing is retrained offline: its results stay valid when only the retraining changes.
            record["retraining"] = recorded(self.retraining)
            record["storage"] = self.storage
        return record | ({"without": tasks[without - 1]} if without else {})


def planned(probing: ProbingSpec, sources: Mapping[str, str], *, told: bool) -> dict[str, Any]:
    """Return a plan's fields of `[probing]`.

    sources: hashes of user-defined readouts; told: whether the networks are told the task, so that
    readouts are, too: each is fitted by task.
    """
    readouts = {}
    for name, own in probing.readouts.items():
        per_task = own.per_task or (told and name != RETRAIN)
        update = {"source": sources.get(name), "per_task": per_task}
        readouts[name] = own.model_copy(update=update)
    return {**probing.model_dump(exclude={"readouts"}), "readouts": readouts}
