"""The scenario of a study: data sets, and their division into tasks.

Each of the six kinds is a table `[scenario]` of a study's file, and makes its `Scenario`: `split`
(disjoint classes, as in Murata et al. 2020 and Chaudhry et al. 2018), Kemker et al. 2018's
`permutation`, `incremental` and `multimodal`, and van de Ven et al. 2022's `domain` and `task`.
This module has only the settings, which pydantic checks when the study is read; `scenarios.data`
loads data, `scenarios.streams` divides them.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, StrictInt, Tag

from probe.errors import InputError
from probe.orders import MOST
from probe.tasked_examples import check_tasks
from probe.tasks import Scenario
from scenarios.data.datasets import (
    LOADERS,
    Dataset,
    Location,
    held_out,
    limited,
    load,
    standardized,
)
from scenarios.own_code import REGISTRY, unregistered
from scenarios.streams.domain import brought, contexts, rotated
from scenarios.streams.multimodal import multimodal
from scenarios.streams.permuted import permuted
from scenarios.streams.split import cut, incremental, split_by_class


def _known(name: str) -> str:
    """Return the name of a data set or feature file; raises InputError for any other."""
    if not name.endswith(".npz") and name not in LOADERS and name not in REGISTRY.data:
        raise unregistered("data set", name, LOADERS, REGISTRY.data)
    return name


_Data = Annotated[str, AfterValidator(_known)]


class _Spec(BaseModel):
    """Settings of every scenario.

    train_limit, test_limit: examples kept per class, of each task where the data bring tasks (None
    = all); validation: held-out training examples per class that replace the test data, to tune
    settings (None = none); standardize: whether inputs get mean 0 and deviation 1, by channel, over
    the training examples that are left.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    train_limit: StrictInt | None = Field(default=None, ge=1)
    test_limit: StrictInt | None = Field(default=None, ge=1)
    validation: StrictInt | None = Field(default=None, ge=1)
    standardize: bool = False

    data: str | tuple[str, str]

    @property
    def told(self) -> bool:
        """Whether the task of each example is known, so that its classes alone compete."""
        return getattr(self, "kind", "") == "task"

    def _loaded(self, name: str, location: Location, *, keeps_tasks: bool = False) -> Dataset:
        data = load(name, location)
        if data.has_tasks and not keeps_tasks:
            raise InputError(f'{name} brings its tasks: use kind = "split", or shift = "own"')
        if self.validation is not None:
            data = held_out(data, self.validation)
        data = limited(data, self.train_limit, self.test_limit)
        return standardized(data) if self.standardize else data


class _ByClass(_Spec):
    """Tasks of consecutive, disjoint classes of a data set, or the tasks that the data bring.

    classes_per_task: must divide the K classes into T tasks (None = 2); tasks: the classes of each
    task instead, such as [[0, 5], [1, 6]], each class in one.
    """

    data: _Data
    classes_per_task: StrictInt | None = Field(default=None, ge=1)
    tasks: tuple[tuple[StrictInt, ...], ...] | None = Field(default=None, min_length=1)

    @property
    def title(self) -> str:
        """The name of the scenario in tables."""
        return f"{self.data}, told the task" if self.told else self.data

    def scenario(self, location: Location) -> Scenario:
        """Load the data and cut them into tasks, in base order.

        Raises InputError for data that cannot be loaded, and for classes that do not divide evenly.
        """
        data = self._loaded(self.data, location, keeps_tasks=True)
        if data.has_tasks:
            if self.classes_per_task is not None or self.tasks is not None:
                raise InputError(f"{data.name} brings its tasks: leave out classes_per_task, tasks")
            return brought(data, "split")
        if self.tasks is None:
            return split_by_class(data, self.classes_per_task or 2)
        check_tasks(self.tasks, data.classes)
        return cut(data, "split", self.tasks)


class SplitSpec(_ByClass):
    """Class-incremental, or the tasks that the data bring."""

    kind: Literal["split"] = "split"


class TaskSpec(_ByClass):
    """Task-incremental: a split of which the task is always known, in training too."""

    kind: Literal["task"]


class PermutationSpec(_Spec):
    """Sessions of the same data, all but the first with a permutation of the input elements.

    It is also the kind `domain` with the shift `permute`.

    sessions: T; permutations: the seed of the permutations, not of a run: all runs of a study see
    the same sessions. Source: Kemker 2018's data permutation experiment.
    """

    kind: Literal["permutation", "domain"]
    shift: Literal["permute"] = "permute"
    data: _Data
    sessions: StrictInt = Field(default=10, ge=2, le=MOST)
    permutations: StrictInt = Field(default=0, ge=0)

    @property
    def title(self) -> str:
        """The name of the scenario in tables."""
        return f"{self.data}, permuted"

    def scenario(self, location: Location) -> Scenario:
        """Load the data and permute them for each session, in base order.

        A session's test data have the permutation of its training data.
        """
        return permuted(self._loaded(self.data, location), self.sessions, self.permutations)


class IncrementalSpec(_Spec):
    """A base session of `base` classes (None = half of them), then sessions of a single class.

    Source: Kemker 2018's incremental class experiment.
    """

    kind: Literal["incremental"]
    data: _Data
    base: StrictInt | None = Field(default=None, ge=1)

    @property
    def title(self) -> str:
        """The name of the scenario in tables."""
        return f"{self.data}, class by class"

    def scenario(self, location: Location) -> Scenario:
        """Load the data and cut them into the base session and the later ones.

        Raises InputError for data that cannot be loaded, and for a base of too many classes.
        """
        return incremental(self._loaded(self.data, location), self.base)


class MultimodalSpec(_Spec):
    """Two data sets of different kinds, one after the other.

    data: both names, in base order. Source: Kemker 2018's multi-modal experiment.
    """

    kind: Literal["multimodal"]
    data: tuple[_Data, _Data]

    @property
    def title(self) -> str:
        """The name of the scenario in tables."""
        return " and ".join(self.data)

    def scenario(self, location: Location) -> Scenario:
        """Load both data sets; the narrower inputs are padded with zeros.

        The classes of the second come after those of the first.
        """
        return multimodal(*(self._loaded(name, location) for name in self.data))


class _DomainSpec(_Spec):
    """Domain-incremental: the same classes in each task, of other inputs, by `shift`."""

    kind: Literal["domain"]
    data: _Data
    shift: str

    @property
    def title(self) -> str:
        """The name of the scenario in tables."""
        return f"{self.data}, {_SHIFTED[self.shift]}"


_SHIFTED = {"rotate": "rotated", "classes": "labeled within the task", "own": "own domains"}


class RotateSpec(_DomainSpec):
    """Images turned counterclockwise by each of `angles`, in degrees."""

    shift: Literal["rotate"]
    angles: tuple[Annotated[float, Field(allow_inf_nan=False)], ...] = Field(min_length=1)

    def scenario(self, location: Location) -> Scenario:
        """Load the images and turn them for each task."""
        return rotated(self._loaded(self.data, location), self.angles)


class ContextsSpec(_DomainSpec):
    """Tasks of `classes_per_task` consecutive classes, each labeled 0, 1 and so on."""

    shift: Literal["classes"]
    classes_per_task: StrictInt = Field(default=2, ge=2)

    def scenario(self, location: Location) -> Scenario:
        """Load the data and label them within their tasks."""
        return contexts(self._loaded(self.data, location), self.classes_per_task)


class BroughtSpec(_DomainSpec):
    """The tasks that the data bring."""

    shift: Literal["own"]

    def scenario(self, location: Location) -> Scenario:
        """Load the data; raises InputError for data without tasks."""
        return brought(self._loaded(self.data, location, keeps_tasks=True), "domain")


def _kind(value: object) -> str:
    """Return the kind of scenario, with its shift, that a table or specification describes.

    It is checked as that kind alone. Anything else has no kind: the first of them refuses it.
    """
    of = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    kind = str(of.get("kind", "split"))
    return f"{kind} {of.get('shift')}" if kind == "domain" else kind


KINDS = ("split", "permutation", "incremental", "multimodal", "task", "domain")
SHIFTS = ("rotate", "permute", "classes", "own")

ScenarioSpec = Annotated[
    Annotated[SplitSpec, Tag("split")]
    | Annotated[PermutationSpec, Tag("permutation")]
    | Annotated[IncrementalSpec, Tag("incremental")]
    | Annotated[MultimodalSpec, Tag("multimodal")]
    | Annotated[TaskSpec, Tag("task")]
    | Annotated[RotateSpec, Tag("domain rotate")]
    | Annotated[PermutationSpec, Tag("domain permute")]
    | Annotated[ContextsSpec, Tag("domain classes")]
    | Annotated[BroughtSpec, Tag("domain own")],
    Discriminator(_kind),
]
"""A scenario of one of the six kinds, by the key `kind`; by default it is `split`.

The kind is decided first, so that an error names the fields of that kind, not of all.
"""


def has_single_classes(spec: ScenarioSpec) -> bool:
    """Return whether there are tasks of a single class, whose label follows from the task.

    Multi-head evaluation is meaningless for them: it would always be right.
    """
    if not isinstance(spec, SplitSpec | TaskSpec):
        return isinstance(spec, IncrementalSpec)
    if spec.tasks is None:
        return spec.classes_per_task == 1
    return any(len(task) == 1 for task in spec.tasks)
