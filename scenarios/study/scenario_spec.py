"""The scenario of a study: data sets, and their division into tasks.

Each of the six kinds is a table `[scenario]` of a study's file, and makes its `Scenario`: van de
Ven et al. 2022's `class-incremental` (disjoint classes, as in Murata et al. 2020 and Chaudhry et
al. 2018), `task-incremental` and `domain-incremental`, and Kemker et al. 2018's `permutation`,
`incremental` and `multimodal`. This module has only the settings, which pydantic checks when the
study is read; `scenarios.data` loads data, `scenarios.streams` divides them.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, StrictInt, Tag

from probe.errors import InputError
from probe.tasked_examples import check_tasks
from probe.tasks import MOST, Scenario
from scenarios import streams
from scenarios.data import datasets
from scenarios.user_code import REGISTRY, unregistered


def _check_name(name: str) -> str:
    """Return the name of a data set or feature file; raises InputError for any other."""
    if not name.endswith(".npz") and name not in datasets.LOADERS and name not in REGISTRY.data:
        raise unregistered("data set", name, datasets.LOADERS, REGISTRY.data)
    return name


_Data = Annotated[str, AfterValidator(_check_name)]


class _Spec(BaseModel):
    """Settings of every scenario.

    train_limit, test_limit: examples kept per class, of each task where the data set has tasks
    (None = all); validation: held-out training examples per class that replace the test data, to
    tune settings (None = none); standardize: whether inputs get mean 0 and deviation 1, by channel,
    over the remaining training examples.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    train_limit: StrictInt | None = Field(default=None, ge=1)
    test_limit: StrictInt | None = Field(default=None, ge=1)
    validation: StrictInt | None = Field(default=None, ge=1)
    standardize: bool = False

    data: str | tuple[str, str]
    titled: ClassVar[str] = "{}"

    @property
    def title(self) -> str:
        """The name of the scenario in tables."""
        names = (self.data,) if isinstance(self.data, str) else self.data
        return self.titled.format(" and ".join(names))

    @property
    def task_aware(self) -> bool:
        """Whether training and tests know the task of each example, and use only its classes."""
        return getattr(self, "kind", "") == "task-incremental"

    def _load(
        self, name: str, location: datasets.Location, *, tasks: bool = False
    ) -> datasets.Dataset:
        """Load a data set with the limits; tasks: whether it may have tasks of its own."""
        data = datasets.load(name, location)
        if data.has_tasks and not tasks:
            kinds = 'kind = "class-incremental", or "domain-incremental" with source = "dataset"'
            raise InputError(f"{name} brings its tasks: use {kinds}")
        if self.validation is not None:
            data = datasets.held_out(data, self.validation)
        data = datasets.limited(data, self.train_limit, self.test_limit)
        return datasets.standardized(data) if self.standardize else data


class _OneDataset(_Spec):
    data: _Data


class _ByClass(_OneDataset):
    """Tasks of consecutive, disjoint classes of a data set, or the data set's own tasks.

    classes_per_task: must divide the K classes into T tasks (None = 2); tasks: the classes of each
    task instead, such as [[0, 5], [1, 6]], each class in one.
    """

    classes_per_task: StrictInt | None = Field(default=None, ge=1)
    tasks: tuple[tuple[StrictInt, ...], ...] | None = Field(default=None, min_length=1)

    def scenario(self, location: datasets.Location) -> Scenario:
        """Load the data and divide them into tasks, in base order.

        Raises InputError for data that cannot be loaded, and for classes that do not divide evenly.
        """
        data = self._load(self.data, location, tasks=True)
        if data.has_tasks:
            if self.classes_per_task is not None or self.tasks is not None:
                raise InputError(f"{data.name} brings its tasks: leave out classes_per_task, tasks")
            return streams.dataset_tasks(data, "class-incremental")
        if self.tasks is None:
            return streams.split_by_class(data, self.classes_per_task or 2)
        check_tasks(self.tasks, data.classes)
        return streams.group_classes(data, "class-incremental", self.tasks)


class ClassIncrementalSpec(_ByClass):
    """Class-incremental: the task of an example is unknown."""

    kind: Literal["class-incremental"] = "class-incremental"


class TaskIncrementalSpec(_ByClass):
    """Task-incremental: the task of every example is known, in training too."""

    titled = "{}, told the task"
    kind: Literal["task-incremental"]


class PermutationSpec(_OneDataset):
    """Sessions of the same data, all but the first with a permutation of the input elements.

    It is also the kind `domain-incremental` with the shift `permute`. Source: Kemker 2018's data
    permutation experiment.

    Attributes:
        kind: The kind of the scenario.
        shift: The shift, if the kind is `domain-incremental`.
        sessions: T.
        permutation_seed: Seed of the permutations, not of a run: all runs of a study have the same
            sessions.
    """

    titled = "{}, permuted"
    kind: Literal["permutation", "domain-incremental"]
    shift: Literal["permute"] = "permute"
    sessions: StrictInt = Field(default=10, ge=2, le=MOST)
    permutation_seed: StrictInt = Field(default=0, ge=0)

    def scenario(self, location: datasets.Location) -> Scenario:
        """Load the data and permute them for each session, in base order.

        A session's test data have the permutation of its training data.
        """
        data = self._load(self.data, location)
        return streams.permuted(data, self.sessions, self.permutation_seed)


class IncrementalSpec(_OneDataset):
    """A base session of `base` classes (None = half of them), then sessions of a single class.

    Source: Kemker 2018's incremental class experiment.
    """

    titled = "{}, class by class"
    kind: Literal["incremental"]
    base: StrictInt | None = Field(default=None, ge=1)

    def scenario(self, location: datasets.Location) -> Scenario:
        """Load the data and divide them into the base session and the later ones.

        Args:
            location: The data folder.

        Returns:
            The scenario.

        Raises:
            InputError: The data cannot be loaded, or the base has too many classes.
        """
        return streams.incremental(self._load(self.data, location), self.base)


class MultimodalSpec(_Spec):
    """Two data sets of different kinds, one after the other.

    data: both names, in base order. Source: Kemker 2018's multi-modal experiment.
    """

    kind: Literal["multimodal"]
    data: tuple[_Data, _Data]

    def scenario(self, location: datasets.Location) -> Scenario:
        """Load both data sets; the narrower inputs are padded with zeros.

        The classes of the second come after those of the first.
        """
        return streams.multimodal(*(self._load(name, location) for name in self.data))


class RotateSpec(_OneDataset):
    """Domain-incremental: images rotated counterclockwise by each of `angles`, in degrees."""

    titled = "{}, rotated"
    kind: Literal["domain-incremental"]
    shift: Literal["rotate"]
    angles: tuple[Annotated[float, Field(allow_inf_nan=False)], ...] = Field(min_length=1)

    def scenario(self, location: datasets.Location) -> Scenario:
        """Load the images and rotate them for each task."""
        return streams.rotated(self._load(self.data, location), self.angles)


class RelabelSpec(_OneDataset):
    """Domain-incremental: tasks of `classes_per_task` classes, each labeled 0, 1 and so on."""

    titled = "{}, labeled within the task"
    kind: Literal["domain-incremental"]
    shift: Literal["classes"]
    classes_per_task: StrictInt = Field(default=2, ge=2)

    def scenario(self, location: datasets.Location) -> Scenario:
        """Load the data and label them within their tasks."""
        return streams.relabeled(self._load(self.data, location), self.classes_per_task)


class DatasetDomainsSpec(_OneDataset):
    """Domain-incremental: the tasks of the data set itself."""

    titled = "{}, own domains"
    kind: Literal["domain-incremental"]
    source: Literal["dataset"]

    def scenario(self, location: datasets.Location) -> Scenario:
        """Load the data; raises InputError for data without tasks."""
        data = self._load(self.data, location, tasks=True)
        return streams.dataset_tasks(data, "domain-incremental")


KINDS = (
    *("class-incremental", "task-incremental", "domain-incremental"),
    *("permutation", "incremental", "multimodal"),
)
SHIFTS = ("rotate", "permute", "classes")


def _tag(value: object) -> str:
    """Return the kind of scenario, with its shift, that a table or specification describes.

    It is checked as that kind only. Anything else has no kind: the first of them refuses it.
    """
    table = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    kind = str(table.get("kind", "class-incremental"))
    if kind != "domain-incremental":
        return kind
    return f"{kind} {'dataset' if 'source' in table else table.get('shift')}"


ScenarioSpec = Annotated[
    Annotated[ClassIncrementalSpec, Tag("class-incremental")]
    | Annotated[PermutationSpec, Tag("permutation")]
    | Annotated[IncrementalSpec, Tag("incremental")]
    | Annotated[MultimodalSpec, Tag("multimodal")]
    | Annotated[TaskIncrementalSpec, Tag("task-incremental")]
    | Annotated[RotateSpec, Tag("domain-incremental rotate")]
    | Annotated[PermutationSpec, Tag("domain-incremental permute")]
    | Annotated[RelabelSpec, Tag("domain-incremental classes")]
    | Annotated[DatasetDomainsSpec, Tag("domain-incremental dataset")],
    Discriminator(_tag),
]
"""A scenario of one of the six kinds, by the key `kind`; by default `class-incremental`.

The kind is decided first, so that an error names the fields of that kind, not of all.
"""


def has_single_classes(spec: ScenarioSpec) -> bool:
    """Return whether there are tasks of a single class, whose label follows from the task.

    Multi-head evaluation is meaningless for them: it would always be right.
    """
    if not isinstance(spec, _ByClass):
        return isinstance(spec, IncrementalSpec)
    if spec.tasks is None:
        return spec.classes_per_task == 1
    return any(len(task) == 1 for task in spec.tasks)
