"""What a study measures behind its features: which readouts, and after how many tasks.

The accuracies behind a feature are a matrix like R, A[feature, tasks learned, task]. Row 0 is the
floor, what an untrained network gives; the offline network's features give the ceiling. A reading
is one row of one such matrix: the counts of one readout behind one feature after so many tasks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    Tag,
)

from probe.errors import InputError, unknown
from probe.metrics.murata import RETRAIN
from probe.readouts.readout import Knn, Linear, Ncm, Readout
from probe.training.recipe import Recipe

Named = Literal["ends", "all", "last"]
"""`ends`: before any task and after all; `all`: after each as well; `last`: after all, no floor."""

DIAGNOSTICS = "diagnostics"
"""What is no readout: a feature's dead units, its rank, and its similarity to other networks'."""

REESTIMATED = "+bn"
"""Behind the name of a readout: with batch norm's statistics taken from all tasks."""


def _named_steps(steps: str) -> str:
    if steps not in get_args(Named):
        raise unknown("rule for steps", steps, get_args(Named))
    return steps


def _listed_steps(steps: tuple[int, ...]) -> tuple[int, ...]:
    if sorted(set(steps)) != list(steps) or steps[0] < 0:
        raise InputError(
            f"steps are numbers of tasks learned, from 0 and ascending, as [0, 2, 5], got "
            f"{list(steps)}"
        )
    return steps


def _kind(steps: object) -> str:
    return "named" if isinstance(steps, str) else "listed"


Steps = Annotated[
    Annotated[str, AfterValidator(_named_steps), Tag("named")]
    | Annotated[
        tuple[StrictInt, ...], Field(min_length=1), AfterValidator(_listed_steps), Tag("listed")
    ],
    Discriminator(_kind),
]
"""After how many tasks a readout is measured, see `Named`; 0 stands for floor and ceiling."""


def _with_steps(table: object) -> object:
    """Let a readout be given by its steps alone."""
    return {"steps": table} if isinstance(table, str | list | tuple) else table


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RetrainReadout(_Strict):
    """The network's own tail, retrained by the study's recipe for retraining."""

    steps: Steps = "ends"


class LinearReadout(_Strict):
    """Logistic regression to convergence; see `probe.readouts.readout.Linear`."""

    steps: Steps = "all"
    C: float = Field(default=1.0, gt=0, le=1e6, strict=True)


class NcmReadout(_Strict):
    """The nearest class mean."""

    steps: Steps = "all"


class KnnReadout(_Strict):
    """A vote of the k nearest training examples."""

    steps: Steps = "all"
    k: StrictInt = Field(default=10, ge=1, le=10_000)


class Readouts(_Strict):
    """The readouts of a study by name; one that is not given is not measured."""

    retrain: Annotated[RetrainReadout | None, BeforeValidator(_with_steps)] = None
    linear: Annotated[LinearReadout | None, BeforeValidator(_with_steps)] = None
    ncm: Annotated[NcmReadout | None, BeforeValidator(_with_steps)] = None
    knn: Annotated[KnnReadout | None, BeforeValidator(_with_steps)] = None

    @property
    def given(self) -> dict[str, RetrainReadout | LinearReadout | NcmReadout | KnnReadout]:
        """Those that are measured, by name."""
        each = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: readout for name, readout in each.items() if readout is not None}


DEFAULT = Readouts(retrain=RetrainReadout(), linear=LinearReadout())
"""Partial retraining with floor and ceiling, and a linear readout after every task."""


_Multiple = Annotated[StrictInt, Field(le=10_000)]


class ProbingSpec(_Strict):
    """What is measured behind the features of a study.

    - readouts: which, and at which steps;
    - budget: multiples of the retraining's epochs after which a retrained model is tested;
    - batch_norm: `reestimated` measures, beside the statistics that the network has, also those of
      all tasks' training inputs: what of the missing accuracy is a matter of statistics alone;
    - checkpoints: `needed` drops a job's checkpoints but the last once all of it is measured;
    - diagnostics: whether to look for dead units, rank and similarity, see `Reading`.
    """

    readouts: Readouts = DEFAULT
    budget: Annotated[tuple[_Multiple, ...], Field(max_length=8)] = (1,)
    batch_norm: Literal["kept", "reestimated"] = "kept"
    checkpoints: Literal["needed", "all"] = "needed"
    diagnostics: StrictBool = True

    def settings_of(self, readout: str) -> Readout | None:
        """Return how a readout by name reads a feature; None for retraining."""
        given = self.readouts.given[readout]
        match given:
            case LinearReadout():
                return Linear(C=given.C)
            case NcmReadout():
                return Ncm()
            case KnnReadout():
                return Knn(k=given.k)
        return None

    def at(self, readout: str, tasks: int) -> tuple[bool, tuple[int, ...]]:
        """Return whether a readout has floor and ceiling, and after how many tasks it is measured.

        tasks: T; the numbers are from 1 to T. Raises InputError for steps that T tasks do not have.
        """
        steps = self.readouts.given[readout].steps
        if isinstance(steps, str):
            every = range(1, tasks + 1) if steps == "all" else (tasks,)
            return steps != "last", tuple(every)
        if steps[-1] > tasks:
            raise InputError(
                f"probing.readouts.{readout}.steps: there are {tasks} tasks, so steps are from 0 "
                f"to {tasks}, got {steps[-1]}"
            )
        return 0 in steps, tuple(step for step in steps if step)

    def variants(self, readout: str) -> tuple[str, ...]:
        """Return the names under which a readout is measured, by budget and statistics."""
        names = [readout]
        if readout == RETRAIN:
            names = [named(multiple) for multiple in self.budget]
        if self.batch_norm == "reestimated":
            names += [f"{name}{REESTIMATED}" for name in names]
        return tuple(names)


def named(multiple: int) -> str:
    """Return the name of partial retraining at a multiple of the epochs.

    >>> named(1), named(4)
    ('retrain', 'retrain@4')
    """
    return RETRAIN if multiple == 1 else f"{RETRAIN}@{multiple}"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One part of a job: a readout behind a feature after `step` tasks.

    readout: its name with its variant, as `retrain@2+bn`; digest: of what decides its result beside
    the job's fingerprint, empty for the last row of partial retraining, which that holds.
    """

    step: int
    feature: str
    readout: str
    digest: str = ""

    @property
    def part(self) -> str:
        """The name of the part, which no other reading of the job has."""
        if not self.digest:
            return f"feature-{self.feature}"
        return f"row-{self.step}.{self.feature}.{self.readout}-{self.digest}"

    @property
    def base(self) -> str:
        """The readout's name without its variant."""
        return self.readout.removesuffix(REESTIMATED).partition("@")[0]

    @property
    def multiple(self) -> int:
        """Of the retraining's epochs."""
        return int(self.readout.removesuffix(REESTIMATED).partition("@")[2] or 1)

    @property
    def reestimated(self) -> bool:
        """Whether batch norm's statistics are those of all tasks."""
        return self.readout.endswith(REESTIMATED)


def digest_of(record: Mapping[str, Any]) -> str:
    """Return eight hexadecimal digits that tell settings apart.

    >>> digest_of({"C": 1.0}) == digest_of({"C": 2.0})
    False
    """
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:8]


_FIRST = {"epochs", "batch_size", "optimizer", "learning_rate", "init", "precision"}


def recorded(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe by its fields, without those that came later and are at their defaults.

    So results from before a field came keep their fingerprints: as such a recipe trains, all did.
    """
    values = {each.name: (getattr(recipe, each.name), each.default) for each in fields(recipe)}
    return {n: value for n, (value, usual) in values.items() if n in _FIRST or value != usual}
