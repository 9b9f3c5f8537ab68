"""The plan: networks by learner, order, seed and tasks learned, and the measurements made of them.

It is plain data: a run directory describes itself by its plan, so that status, tables
and figures need neither the data nor the user's code. Studies (`scenarios.study`) and
trained networks (`probe.by_layer.network_source`) both become a plan, and one engine
carries it out.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Annotated, Any

from pydantic import Field

from probe.arrays import Storage
from probe.by_layer.fingerprint import RESULTS_VERSION, Record
from probe.by_layer.planned_probing import PlannedProbing
from probe.by_layer.report import ReportSpec
from probe.errors import InputError
from probe.metrics.murata import RETRAIN
from probe.stored_names import ReadoutName
from probe.tables.schemas import (
    CONTROLS as CONTROLS,
    OFFLINE as OFFLINE,
    UNTRAINED as UNTRAINED,
)
from probe.training.recipe import Recipe
from probe.validation import StrictModel

# Part of a folder's name. A name in an edited study.json must not lead elsewhere.
_Name = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_-]|\.[0-9])*$", max_length=80)
]


class PlannedTask(StrictModel):
    """A task's name and classes."""

    name: str
    classes: tuple[int, ...]


class PlannedLearner(StrictModel):
    """A learner of a plan: its networks, and all of its settings that can change a result.

    Attributes:
        kind: Name of the learner in the catalog.
        modules: Modules of this package that its jobs need besides the engine.
        listed: Whether it is in the tables; False for a floor that was not asked for.
        offline: Whether it learns all tasks at once, or none.
        task_aware: Whether it receives the task id.
        own_network: Whether its architecture has layers that differ from the controls'.
        features: Names of the features by depth; the last is the output.
        steps: The numbers of tasks learned after which there is a network.
        network: A record of the network.
        settings: A record of the learner's settings.
        training: The recipe of the training.
        per_class: The budget in exemplars per class.
        total: The budget in exemplars in total.
        sampling: The sampling strategy, empty for a learner that stores no exemplars.
        weight_hashes: Hashes of networks that were trained elsewhere, by `ORDER/SEED`
            and number of tasks learned; empty where they are trained here.
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
    settings: Record = Field(default_factory=dict)
    training: Recipe
    per_class: int | None = None
    total: int | None = None
    sampling: str = ""
    weight_hashes: dict[str, dict[int, str]] = Field(default_factory=dict)

    def hashes_of(self, order: str, seed: int) -> Mapping[int, str]:
        """Return the hashes of a run's weights.

        Args:
            order: Name of the order.
            seed: The seed.

        Returns:
            The hashes by number of tasks seen; empty if the run is trained here.
        """
        return self.weight_hashes.get(f"{order}/{seed}", {})


class Plan(PlannedProbing):
    """Everything that determines measurements and tables, except the examples themselves.

    Attributes:
        name: The name of the study.
        scenario: The title of the stream.
        kind: The kind of the stream.
        network: The name of the network.
        tasks: The T tasks in base order.
        learners: The learners by name.
        orders: The T tasks in the order of learning, numbered from 0, by the order's
            name.
        seeds: The seeds.
        retraining: The recipe of the retrained tails.
        storage: The type in which features' values are stored.
        report: The settings of tables and figures.
        next: The command to suggest when the run has ended, empty in Python.
        data: A hash of all examples.
        device: `cpu` or `cuda`; other devices do not give the same bits.
        torch: The version of torch; other versions do not give the same bits.
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
    report: ReportSpec = ReportSpec()
    next: str = ""
    data: str
    device: str
    torch: str

    def steps_of(self, readout: str) -> tuple[int, ...]:
        """Return the numbers of tasks, from 1, after which a readout is measured.

        Args:
            readout: The name of the readout. For the rule `spread`, which measures only
                some steps, all candidate steps are returned.

        Raises:
            InputError: A step is above the number of tasks, or a readout that tells a
                task's classes apart has a task of one class.
        """
        planned = self.readouts[readout]
        T = len(self.tasks)
        small_tasks = [task.name for task in self.tasks if len(task.classes) < 2]
        if planned.task_aware and small_tasks:
            raise InputError(
                f"probing.readouts.{readout} tells a task's classes apart, and task "
                f"{small_tasks[0]} has only one: leave it out, or give each task two "
                "classes"
            )
        if isinstance(planned.steps, str):
            return (
                tuple(range(1, T + 1)) if planned.steps in ("all", "spread") else (T,)
            )
        if planned.steps[-1] > T:
            raise InputError(
                f"probing.readouts.{readout}.steps must be 0 to {T} tasks, got "
                f"{planned.steps[-1]}"
            )
        return tuple(tasks_seen for tasks_seen in planned.steps if tasks_seen)

    def variants(self, readout: str) -> tuple[ReadoutName, ...]:
        """Return the variants in which a readout is measured, by budget and statistics."""
        name = ReadoutName.parse(readout)
        budget = self.budget if name.is_retraining else (1,)
        variants = [replace(name, budget=multiple) for multiple in budget]
        if self.batch_norm == "reestimated":
            variants += [replace(variant, reestimates=True) for variant in variants]
        return tuple(variants)

    def record(
        self,
        learner: str,
        order: str,
        tasks: tuple[int, ...],
        seed: int,
        without: int = 0,
    ) -> Record:
        """Return everything that can change the results of a job, see `probe.by_layer.jobs.Job`.

        The record leaves out the names of the study, its learners, orders and features,
        its other jobs and features, and the location of the data. Unused settings count
        all the same. The processor does not count, so that machines can share a study,
        although two kinds of CPU may round differently. This package's code counts only
        by RESULTS_VERSION.

        Args:
            learner: The name of the learner.
            order: The name of the order.
            tasks: The tasks in executed order.
            seed: The seed.
            without: The position of the task that is never learned, 0 for none.
        """
        planned = self.learners[learner]
        hashes = {str(t): value for t, value in planned.hashes_of(order, seed).items()}
        record: Record = {
            "version": RESULTS_VERSION,
            "data": self.data,
            "classes": [list(self.tasks[task].classes) for task in tasks],
            "tasks": list(tasks),
            "network": planned.network,
            "learner": planned.settings | ({"networks": hashes} if hashes else {}),
            "training": recipe_record(planned.training),
            "seed": seed,
            "device": self.device,
            "torch": self.torch,
        }
        if not planned.offline:
            # Nothing is retrained offline: its results stay valid when only the
            # retraining changes.
            record["retraining"] = recipe_record(self.retraining)
            record["storage"] = self.storage
        return record | ({"without": tasks[without - 1]} if without else {})


_FIRST_FIELDS = {
    "epochs",
    "batch_size",
    "optimizer",
    "learning_rate",
    "init",
    "precision",
}


def recipe_record(recipe: Recipe) -> Record:
    """Return the fields of a recipe, without later additions that have their defaults.

    Results from before a field was added keep their fingerprints, as its default
    changes nothing.
    """
    return {
        entry.name: value
        for entry in fields(recipe)
        if (value := getattr(recipe, entry.name)) != entry.default
        or entry.name in _FIRST_FIELDS
    }


def probing_fields(
    probing: PlannedProbing, sources: Mapping[str, str], *, task_aware: bool
) -> Record:
    """Return the fields of a plan that describe its probing.

    Args:
        probing: The measurements.
        sources: Hashes of the code of user-defined readouts, by name.
        task_aware: Whether the networks receive the task id: readouts are then fitted
            by task.
    """
    readouts = {}
    for name, readout in probing.readouts.items():
        by_task = readout.task_aware or (task_aware and name != RETRAIN)
        readouts[name] = readout.model_copy(
            update={"source": sources.get(name), "task_aware": by_task}
        )
    return {**probing.model_dump(exclude={"readouts"}), "readouts": readouts}
