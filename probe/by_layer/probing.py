"""The settings of measurements downstream of features: the readouts and their steps.

The accuracies downstream of a feature are an accuracy matrix, A[feature, tasks seen,
task]. Row 0 is the floor, measured on an untrained network; the offline network's
features give the ceiling.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    StrictInt,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)

from probe.by_layer.fingerprint import Record
from probe.by_layer.planned_probing import PlannedProbing, PlannedReadout, Readouts
from probe.errors import InputError, check_known, unknown
from probe.extensions import NamedSteps, ReadoutEntry, marks_of
from probe.immutable import immutable
from probe.metrics.murata import RETRAIN
from probe.readouts.readout import OURS, READOUTS, Readout, entry_of, name_of
from probe.rewinding.parts import Patterns
from probe.rewinding.shapley import EXACT
from probe.stored_names import ReadoutName
from probe.validation import MOST, StrictModel, problem, problems
from probe.values.allocation import CacheSettings


def _check_steps(
    steps: object, to_tuple: ValidatorFunctionWrapHandler
) -> str | tuple[int, ...]:
    """Return the name of a rule as it is, and a list as a tuple."""
    if isinstance(steps, str):
        check_known("rule for steps", steps, get_args(NamedSteps))
        return steps
    numbers: tuple[int, ...] = to_tuple(steps)
    if sorted(set(numbers)) != list(numbers) or numbers[0] < 0:
        raise InputError(
            f"steps must ascend from 0, such as [0, 2, 5], got {list(numbers)}"
        )
    return numbers


Steps = Annotated[
    tuple[StrictInt, ...], Field(min_length=1), WrapValidator(_check_steps)
]
"""Numbers of tasks after which a readout is measured, or a rule; 0 means floor and ceiling."""


def readouts_model(
    names: Iterable[str] = (), readouts: Mapping[str, ReadoutEntry] = READOUTS
) -> type[BaseModel]:
    """Return a model with a table for each readout, and for further names of them."""
    tables: Record = {}
    for name in dict.fromkeys([*readouts, *names]):
        if entry := entry_of(name, readouts):
            settings = entry.readout.__pydantic_fields__.items()
            columns: Record = {key: (info.annotation, info) for key, info in settings}
            if "per_class" in columns:
                per_class = ReadoutName.parse(name).per_class
                columns["per_class"] = (Literal[per_class], per_class)
            steps = (Steps, entry.steps)
            table = create_model(
                "Readout", __base__=StrictModel, steps=steps, **columns
            )
            tables[name] = (
                Annotated[table | None, BeforeValidator(_table_of_steps)],
                None,
            )
    return create_model("Readouts", __base__=StrictModel, **tables)


def _table_of_steps(value: object) -> object:
    """Return a readout's table, also for a value that is only its steps."""
    return {"steps": value} if isinstance(value, str | list | tuple) else value


def _check_readouts(tables: object, info: ValidationInfo) -> Readouts:
    """Return the readouts of a table; raises pydantic's ValidationError, with paths within it.

    The context of the validation may hold readouts that are not registered.
    """
    readouts = Readouts()
    nameable = {**READOUTS, **(info.context or {})}
    listed = tables if isinstance(tables, Mapping) else ()
    names = [name for name in listed if entry_of(name, nameable)]
    for name, table in readouts_model(names, nameable).model_validate(tables):
        if table is not None:
            entry = cast(ReadoutEntry, entry_of(name, nameable))
            settings = dict(table)
            steps = settings.pop("steps")
            settings = asdict(entry.readout(**settings))
            readouts[name] = PlannedReadout(
                steps=steps, settings=settings, task_aware=entry.task_aware
            )
    return readouts


def _readout_tables(readouts: Readouts) -> Record:
    """Return readouts as tables; those of this package that are left out are None."""
    return dict.fromkeys(OURS) | {
        name: {"steps": readout.steps, **readout.settings}
        for name, readout in readouts.items()
    }


class ProbingSpec(PlannedProbing):
    """The measurements downstream of the features of a study, with readouts that are registered."""

    readouts: Annotated[
        Readouts, PlainValidator(_check_readouts), PlainSerializer(_readout_tables)
    ] = Field(
        default={RETRAIN: "affordable", "linear": "spread"}, validate_default=True
    )


@immutable
class Measure:
    """The measurements to make of each network.

    >>> Measure(readouts=["retrain", "linear"], steps={"linear": "all"}, seeds=3).seeds
    3

    Args:
        readouts: Names of readouts, or settings such as `Linear(C=0.1)`.
        steps: The numbers of tasks learned after which each readout is measured, such
            as [0, 2, 5], or `ends` (before any task and after all), `all`, `spread`,
            `last` or `affordable`. By default retraining is measured after every task
            where that is affordable (`probe.by_layer.affordable`), else at the ends,
            and every other readout after every task, or after ten tasks if there are
            more.
        seeds: The number of retrainings of each feature of networks in memory. Several
            give intervals, over retrainings and test examples only.
        budget: Multiples of the recipe's epochs after which a retrained network is
            tested, ascending.
        controls: The controls to measure; `labels` also fits each readout to permuted
            labels, after all tasks.
        hybrids: The largest number of sets of blocks that are put back for each earlier
            task, to measure whose change cost what. If there are more sets, those of
            random orders are put back. 0 = none.
        inherited: Whether to measure how much of what a readout shows as forgotten is
            due to the layer's own block, and how much to those upstream; None = only if
            that takes no more readouts than all other measurements.
        blocks: Patterns of names of parameters by block that is put back, such as
            `{"lstm 1": "lstm.*_l0"}`; None = a block for each feature.
        cache: Memory and disk for features' values.
    """

    readouts: Sequence[str | Readout] = (RETRAIN, "linear")
    steps: Mapping[str, str | Sequence[int]] = field(default_factory=dict)
    seeds: int = 1
    budget: Sequence[int] = (1,)
    controls: Sequence[str] = ()
    hybrids: int = EXACT
    inherited: bool | None = None
    blocks: Patterns | None = None
    cache: CacheSettings | None = None

    @classmethod
    def coerce(cls, measure: "Measure | Sequence[str | Readout]") -> "Measure":
        """Return a Measure; a list of readouts is converted."""
        return measure if isinstance(measure, Measure) else cls(readouts=measure)

    @property
    def probing(self) -> ProbingSpec:
        """The settings of `[probing]`; raises InputError for invalid values."""
        if type(self.seeds) is not int or not 1 <= self.seeds <= MOST:
            raise InputError(
                f"seeds must be a whole number of 1 to {MOST}, got {self.seeds!r:.60}"
            )
        tables: dict[str, Record] = {
            name: {} if readout is None else asdict(cast(Any, readout))
            for name, readout in self._readouts.items()
        }
        if not isinstance(self.steps, Mapping):
            raise InputError(
                f"steps must be a dict like {{'linear': 'all'}}, got {self.steps!r}"
            )
        for name, steps in self.steps.items():
            check_known("readout", name, tables, "in this measure")
            tables[name]["steps"] = steps
        settings = {
            "readouts": tables,
            "budget": self.budget,
            "controls": self.controls,
            "hybrids": self.hybrids,
            "inherited": self.inherited,
            "blocks": self.blocks,
        }
        try:
            probing = ProbingSpec.model_validate(settings, context=self.user_defined)
        except ValidationError as error:
            raise InputError("; ".join(map(problem, problems(error)))) from None
        if "exclusion" in probing.controls:
            raise InputError(
                "controls: exclusion needs networks of a study: leave it out"
            )
        return probing

    @property
    def user_defined(self) -> dict[str, ReadoutEntry]:
        """The readouts that were given as settings and are not registered by name."""
        settings = self._readouts.values()
        entries = [
            entry
            for readout in settings
            for entry in marks_of(type(readout), ReadoutEntry)
        ]
        return {entry.name: entry for entry in entries if entry.name not in OURS}

    @property
    def _readouts(self) -> dict[str, Readout | None]:
        """The readouts by name, with their settings where they were given.

        Raises InputError for an unknown readout, an empty list, and two readouts of the
        same name.
        """
        if isinstance(self.readouts, str) or not isinstance(self.readouts, Sequence):
            raise InputError(
                "readouts must be a list such as ['retrain', 'linear'], got "
                f"{self.readouts!r:.80}"
            )
        if not self.readouts:
            raise InputError(
                f"there are no readouts: name one or more of {', '.join(READOUTS)}"
            )
        readouts: dict[str, Readout | None] = {}
        for readout in self.readouts:
            name = name_of(readout)
            settings = cast(Readout | None, readout)
            if isinstance(readout, str):
                name = readout
                settings = None
                if entry_of(name) is None:
                    raise unknown("readout", name, READOUTS)
            if not name:
                raise InputError(
                    "a readout is a name or settings like Linear(C=0.1), "
                    f"got {type(readout).__name__}"
                )
            if name in readouts:
                raise InputError(f"the readout {name!r} is named twice: give it once")
            readouts[name] = settings
        return readouts
