"""The scenario of a study: data sets, and their division into tasks.

There are six kinds: `class-incremental` of van de Ven et al. 2022 (disjoint classes, as
in Murata et al. 2020 and Chaudhry et al. 2018), their `task-incremental` and
`domain-incremental`, and `permutation`, `incremental` and `multimodal` of Kemker et al.
2018. This module has only the settings, which pydantic checks when the study is read, without
torch; `scenarios.data` loads data, `scenarios.streams` divides them.
"""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BeforeValidator, Field, StrictInt, model_validator

from probe.errors import InputError
from probe.validation import MOST, PositiveInt, StrictModel
from scenarios.data.names import DATA_SETS
from scenarios.user_objects import USER_DATA, unregistered

if TYPE_CHECKING:
    from probe.tasks import Scenario
    from scenarios.data.datasets import Dataset, Location

_COMMON = {
    "kind",
    "data",
    "train_limit",
    "test_limit",
    "validation",
    "standardize",
    "expects",
}
_BY_CLASS = {"classes_per_task", "tasks"}
_PERMUTED = {"sessions", "permutation_seed"}
# For each kind, and each shift or source of `domain-incremental`: the title in tables
# (with the data's names for {}), and its keys besides the common ones.
_KINDS = {
    "class-incremental": ("{}", _BY_CLASS),
    "task-incremental": ("{}, told the task", _BY_CLASS),
    "permutation": ("{}, permuted", _PERMUTED),
    "incremental": ("{}, class by class", {"base"}),
    "multimodal": ("{}", set[str]()),
    "rotate": ("{}, rotated", {"shift", "angles"}),
    "permute": ("{}, permuted", _PERMUTED | {"shift"}),
    "classes": ("{}, labeled within the task", {"shift", "classes_per_task"}),
    "dataset": ("{}, own domains", {"source"}),
}


def _data_sets(data: object) -> object:
    """Return one or several names as a list; raises InputError for unknown data sets."""
    data = data if isinstance(data, list | tuple) else (data,)
    for name in data:
        if not isinstance(name, str) or name.endswith(".npz"):
            continue
        if name not in DATA_SETS and name not in USER_DATA:
            raise unregistered("data set", name, DATA_SETS, USER_DATA)
    return data


class Expected(StrictModel):
    """The data for which the settings of a study are made.

    Attributes:
        classes: The number of classes K.
        inputs: The shape of an input.
    """

    classes: StrictInt
    inputs: tuple[StrictInt, ...]

    @property
    def text(self) -> str:
        """The data in words, for messages."""
        return f"{self.classes} classes of inputs {self.inputs}"


class ScenarioSpec(StrictModel):
    """The settings of a scenario; those from `classes_per_task` on are for some kinds only.

    Attributes:
        kind: The kind of scenario.
        data: The name of a data set or feature file; for `multimodal` two names, in
            order.
        train_limit: The number of training examples per class, and per task if the data
            set has tasks; None = all.
        test_limit: The number of test examples, likewise.
        validation: The number of training examples per class that are held out to
            replace the test data, for tuning settings; None = none.
        standardize: Whether inputs are scaled to mean 0 and standard deviation 1, by
            channel, over the remaining training examples.
        classes_per_task: The number of classes of each task, a divisor of K; None = 2.
        tasks: The classes of each task, in place of `classes_per_task`, such as [[0,
            5], [1, 6]]; each class is in one task.
        base: The number of classes of the first session of `incremental`; all others
            have one class. None = half of the classes.
        shift: The difference between the tasks of a `domain-incremental` scenario.
        angles: The degrees by which images are rotated counterclockwise, by task.
        sessions: The number of sessions of a permuted scenario, T; all but the first
            permute the elements of the inputs.
        permutation_seed: The seed of the permutations, not of a run: all runs of a
            study have the same sessions.
        source: The origin of the tasks: `dataset` if the tasks of the data set are the
            domains.
        expects: The data that the settings are for, such as { classes = 10, inputs =
            [1, 28, 28] }; others are refused. None = any.
    """

    kind: Literal[
        "class-incremental",
        "task-incremental",
        "domain-incremental",
        "permutation",
        "incremental",
        "multimodal",
    ] = "class-incremental"
    data: Annotated[tuple[str, ...], BeforeValidator(_data_sets)]
    train_limit: PositiveInt | None = None
    test_limit: PositiveInt | None = None
    validation: PositiveInt | None = None
    standardize: bool = False
    classes_per_task: PositiveInt | None = None
    tasks: tuple[tuple[StrictInt, ...], ...] | None = Field(default=None, min_length=1)
    base: PositiveInt | None = None
    shift: Literal["rotate", "permute", "classes"] | None = None
    angles: tuple[Annotated[float, Field(allow_inf_nan=False)], ...] = ()
    sessions: StrictInt = Field(default=10, ge=2, le=MOST)
    permutation_seed: StrictInt = Field(default=0, ge=0)
    source: Literal["dataset"] | None = None
    expects: Expected | None = None

    @model_validator(mode="after")
    def _fits_kind(self) -> Self:
        """Raise InputError for keys and numbers of names that do not fit the kind."""
        if self._variant not in _KINDS:
            raise InputError(
                'give shift = "rotate", "permute", "classes", or source = "dataset"'
            )
        keys = _COMMON | _KINDS[self._variant][1]
        changed_names = {
            name
            for name, value in self
            if value != type(self).model_fields[name].default
        }
        if unsuitable := sorted(changed_names - keys):
            raise InputError(
                f"{self._variant} has no {', '.join(unsuitable)}: leave it out"
            )
        n_data = 2 if self.kind == "multimodal" else 1
        if len(self.data) != n_data:
            raise InputError(
                f"data: {self.kind} needs exactly {n_data}, got {', '.join(self.data)}"
            )
        if self.shift == "rotate" and not self.angles:
            raise InputError("angles: expected 1 or more entries, got none")
        if self.shift == "classes" and self.classes_per_task == 1:
            raise InputError("classes_per_task: expected 2 or more, got 1")
        return self

    @property
    def _variant(self) -> str:
        """The kind, or the shift or source of a `domain-incremental` scenario."""
        if self.kind == "domain-incremental":
            return str(self.source or self.shift)
        return self.kind

    @property
    def title(self) -> str:
        """The name of the scenario in tables."""
        return _KINDS[self._variant][0].format(" and ".join(self.data))

    @property
    def task_aware(self) -> bool:
        """Whether training and tests know the task of each example, and use only its classes."""
        return self.kind == "task-incremental"

    @property
    def has_single_classes(self) -> bool:
        """Whether some task has a single class, whose label follows from the task.

        Multi-head evaluation is meaningless for such a task: it would always be right.
        """
        if self.tasks is not None:
            return any(len(task) == 1 for task in self.tasks)
        return self.kind == "incremental" or self.classes_per_task == 1

    def scenario(self, location: "Location") -> "Scenario":
        """Load the data and divide them into tasks, in base order.

        Args:
            location: The data folder.

        Returns:
            The scenario.

        Raises:
            InputError: The data cannot be loaded, or do not fit the settings.
        """
        from scenarios import streams

        first, *others = (self._load(name, location) for name in self.data)
        match self._variant:
            case "multimodal":
                return streams.multimodal(first, *others)
            case "incremental":
                return streams.incremental(first, self.base)
            case "permutation" | "permute":
                return streams.permuted(first, self.sessions, self.permutation_seed)
            case "rotate":
                return streams.rotated(first, self.angles)
            case "classes":
                return streams.relabeled(first, self.classes_per_task or 2)
            case "dataset":
                return streams.dataset_tasks(first, self.kind)
        if first.has_tasks:
            if self.classes_per_task is not None or self.tasks is not None:
                raise InputError(
                    f"{first.name} has tasks: leave out classes_per_task and tasks"
                )
            return streams.dataset_tasks(first, "class-incremental")
        if self.tasks is None:
            return streams.split_by_class(first, self.classes_per_task or 2)
        return streams.group_classes(first, "class-incremental", self.tasks)

    def _load(self, name: str, location: "Location") -> "Dataset":
        """Load a data set within the limits; raises InputError for tasks that the kind ignores."""
        from probe.batch import tensors
        from scenarios.data import datasets

        data = datasets.load(name, location)
        uses_tasks = self.source or self.kind.startswith(("class", "task"))
        if data.has_tasks and not uses_tasks:
            raise InputError(
                f"{name} has its own tasks: use "
                'kind = "class-incremental", or "domain-incremental" with source = "dataset"'
            )
        shape = tuple(tensors(data.train.x)[0].shape[1:])
        loaded = Expected(classes=data.classes, inputs=shape)
        if self.expects is not None and self.expects != loaded:
            raise InputError(
                f"{name} has {loaded.text}, but these settings are for "
                f"{self.expects.text}: take another preset, or write a study file "
                "(`probe init`)"
            )
        if self.validation is not None:
            data = datasets.held_out(data, self.validation)
        data = datasets.limited(data, self.train_limit, self.test_limit)
        return datasets.standardized(data) if self.standardize else data
