"""Which scenario a study has: data sets, and how they become tasks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, StrictInt, Tag

from probe.errors import unknown
from scenarios.data.datasets import LOADERS, Dataset, Location, held_out, load
from scenarios.streams.multimodal import multimodal
from scenarios.streams.orders import MOST
from scenarios.streams.permuted import permuted
from scenarios.streams.split import incremental, split_by_class
from scenarios.streams.task import Scenario


def _known(name: str) -> str:
    if not name.endswith(".npz") and name not in LOADERS:
        raise unknown("data set", name, LOADERS)
    return name


_Data = Annotated[str, AfterValidator(_known)]


class _Spec(BaseModel):
    """What every scenario can be given.

    train_limit, test_limit: examples kept per class (None = all); validation: training examples per
    class that are held out and tested on in place of the test data, to choose settings by (None =
    none).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    train_limit: StrictInt | None = Field(default=None, ge=1)
    test_limit: StrictInt | None = Field(default=None, ge=1)
    validation: StrictInt | None = Field(default=None, ge=1)

    data: str | tuple[str, str]

    def _loaded(self, name: str, location: Location) -> Dataset:
        data = load(name, location)
        return data if self.validation is None else held_out(data, self.validation)


class SplitSpec(_Spec):
    """Tasks of consecutive, disjoint classes of a data set, or of a feature file NAME.npz."""

    kind: Literal["split"] = "split"
    data: _Data
    classes_per_task: StrictInt = Field(default=2, ge=1)

    @property
    def title(self) -> str:
        """What tables call the scenario."""
        return self.data

    def scenario(self, location: Location) -> Scenario:
        """Load the data and cut them into tasks, in base order."""
        data = self._loaded(self.data, location)
        return split_by_class(data, self.classes_per_task, self.train_limit, self.test_limit)


class PermutationSpec(_Spec):
    """Sessions of the same data, each but the first with its input elements permuted its own way.

    permutations: the seed of the permutations.
    """

    kind: Literal["permutation"]
    data: _Data
    sessions: StrictInt = Field(default=10, ge=2, le=MOST)
    permutations: StrictInt = Field(default=0, ge=0)

    @property
    def title(self) -> str:
        """What tables call the scenario."""
        return f"{self.data}, permuted"

    def scenario(self, location: Location) -> Scenario:
        """Load the data and permute them for each session, in base order."""
        data = self._loaded(self.data, location)
        return permuted(data, self.sessions, self.permutations, self.train_limit, self.test_limit)


class IncrementalSpec(_Spec):
    """A base session of `base` classes (None = half of them), then sessions of a single class."""

    kind: Literal["incremental"]
    data: _Data
    base: StrictInt | None = Field(default=None, ge=1)

    @property
    def title(self) -> str:
        """What tables call the scenario."""
        return f"{self.data}, class by class"

    def scenario(self, location: Location) -> Scenario:
        """Load the data and cut them into the base session and the later ones."""
        data = self._loaded(self.data, location)
        return incremental(data, self.base, self.train_limit, self.test_limit)


class MultimodalSpec(_Spec):
    """Two data sets of different kinds, one after the other."""

    kind: Literal["multimodal"]
    data: tuple[_Data, _Data]

    @property
    def title(self) -> str:
        """What tables call the scenario."""
        return " and ".join(self.data)

    def scenario(self, location: Location) -> Scenario:
        """Load both data sets; the narrower inputs are padded with zeros."""
        first, second = (self._loaded(name, location) for name in self.data)
        return multimodal(first, second, self.train_limit, self.test_limit)


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("kind", "split"))
    # What is no table has no kind: that it should be one is for the first of them to say.
    return str(getattr(value, "kind", "split"))


KINDS = ("split", "permutation", "incremental", "multimodal")

ScenarioSpec = Annotated[
    Annotated[SplitSpec, Tag("split")]
    | Annotated[PermutationSpec, Tag("permutation")]
    | Annotated[IncrementalSpec, Tag("incremental")]
    | Annotated[MultimodalSpec, Tag("multimodal")],
    Discriminator(_kind),
]
"""One of the four, told apart by `kind`; without one it is `split`."""


def has_single_classes(spec: ScenarioSpec) -> bool:
    """Whether there are tasks of one class each, in which the task tells the label."""
    split = isinstance(spec, SplitSpec) and spec.classes_per_task == 1
    return split or isinstance(spec, IncrementalSpec)
