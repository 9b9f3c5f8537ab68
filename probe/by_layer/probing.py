"""The settings of measurements downstream of features: the readouts and their steps.

The accuracies downstream of a feature are an accuracy matrix, A[feature, tasks learned, task]. Row
0 is the floor, measured on an untrained network; the offline network's features give the ceiling. A
reading is one row of one such matrix: the counts of one readout of one feature after some number of
tasks.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StrictBool,
    StrictInt,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)
from pydantic.fields import FieldInfo

from probe.by_layer.measurement import Key
from probe.errors import InputError, unknown
from probe.metrics.murata import RETRAIN
from probe.readouts.readout import OURS, READOUTS, Readout
from probe.registered import NamedSteps
from probe.training.recipe import Recipe

DIAGNOSTICS = "diagnostics"
"""Diagnostics without a readout: a feature's dead units, rank, and similarity across networks."""

REESTIMATED = "+bn"
"""Suffix of a readout's name: with batch norm's statistics estimated on all tasks."""


def _steps(steps: object, listed: ValidatorFunctionWrapHandler) -> str | tuple[int, ...]:
    """Return the name of a rule as it is, and a list as a tuple."""
    if isinstance(steps, str):
        if steps not in get_args(NamedSteps):
            raise unknown("rule for steps", steps, get_args(NamedSteps))
        return steps
    numbers: tuple[int, ...] = listed(steps)
    if sorted(set(numbers)) != list(numbers) or numbers[0] < 0:
        raise InputError(
            f"steps are numbers of tasks learned, from 0 and ascending, as [0, 2, 5], got "
            f"{list(numbers)}"
        )
    return numbers


Steps = Annotated[tuple[StrictInt, ...], Field(min_length=1), WrapValidator(_steps)]
"""Numbers of tasks after which a readout is measured, see `NamedSteps`; 0 is floor and ceiling."""


def _with_steps(table: object) -> object:
    """Let a readout be given by its steps alone."""
    return {"steps": table} if isinstance(table, str | list | tuple) else table


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlannedReadout(_Strict):
    """A readout and its steps; per_task: see `probe.registered.OwnReadout`.

    source: a hash of the code of a user-defined one.
    """

    steps: str | tuple[int, ...]
    settings: dict[str, Any] = {}
    source: str | None = None
    per_task: bool = False

    @property
    def controlled(self) -> bool:
        """Whether it has controls."""
        return self.steps != "last" and (isinstance(self.steps, str) or 0 in self.steps)


Readouts = dict[str, PlannedReadout]
"""The readouts of a study by name; those that are left out are not measured."""


def readouts_model() -> type[BaseModel]:
    """Return a model with a table for each readout registered now."""
    tables: dict[str, Any] = {RETRAIN: _table("ends", {})}
    for name, own in READOUTS.items():
        tables[name] = _table(own.steps, own.readout.__pydantic_fields__)
    return create_model("Readouts", __base__=_Strict, **tables)


def _table(steps: NamedSteps, settings: Mapping[str, FieldInfo]) -> tuple[Any, None]:
    """Return the type and the default of a readout's table, which may be its steps alone."""
    fields: dict[str, Any] = {name: (each.annotation, each) for name, each in settings.items()}
    table = create_model("Readout", __base__=_Strict, steps=(Steps, steps), **fields)
    return Annotated[table | None, BeforeValidator(_with_steps)], None


def _checked(given: object) -> Readouts:
    """Return the readouts of a table; raises pydantic's ValidationError, with paths within it."""
    checked, found = readouts_model().model_validate(given), Readouts()
    for name, table in checked:
        if table is not None:
            settings = {key: value for key, value in table if key != "steps"}
            own = READOUTS.get(name)
            known = settings_record(own.readout(**settings) if own else None)
            told = own is not None and own.per_task
            found[name] = PlannedReadout(steps=table.steps, settings=known, per_task=told)
    return found


def _written(readouts: Readouts) -> dict[str, Any]:
    """Return readouts as tables, None for this package's readouts that are left out."""
    return dict.fromkeys((RETRAIN, *OURS)) | {
        name: {"steps": given.steps, **given.settings} for name, given in readouts.items()
    }


def settings_record(readout: Readout | None) -> dict[str, Any]:
    """Return the settings of a readout by name, none of retraining's.

    >>> from probe.readouts.readout import Linear
    >>> settings_record(Linear(C=2.0))["C"], settings_record(None)
    (2.0, {})
    """
    return {} if readout is None else asdict(cast(Any, readout))


_Multiple = Annotated[StrictInt, Field(le=10_000)]


class ProbingSpec(_Strict):
    """The measurements downstream of the features of a study.

    - readouts: by name, with the steps of each;
    - budget: multiples of the retraining's epochs after which a retrained model is tested;
    - batch_norm: `reestimated` also measures with batch norm's statistics estimated on all tasks'
      training inputs, which shows how much accuracy is missing because of the statistics alone;
    - checkpoints: `needed` deletes all checkpoints of a job but the last once it is measured;
    - diagnostics: whether to measure dead units, rank and similarity, see `Reading`;
    - controls: `exclusion` trains networks that never saw a task, `labels` fits each readout to
      permuted labels, too; see `probe.results.controls`.
    """

    readouts: Annotated[Readouts, PlainValidator(_checked), PlainSerializer(_written)] = Field(
        default={RETRAIN: "ends", "linear": "spread"}, validate_default=True
    )
    budget: Annotated[tuple[_Multiple, ...], Field(max_length=8)] = (1,)
    batch_norm: Literal["kept", "reestimated"] = "kept"
    checkpoints: Literal["needed", "all"] = "needed"
    diagnostics: StrictBool = True
    controls: tuple[Literal["exclusion", "labels"], ...] = ()

    @property
    def has_floor(self) -> bool:
        """Whether some readout is measured on untrained networks."""
        return any(readout.controlled for readout in self.readouts.values())


def named(multiple: int) -> str:
    """Return the name of partial retraining at a multiple of the epochs.

    >>> named(1), named(4)
    ('retrain', 'retrain@4')
    """
    return RETRAIN if multiple == 1 else f"{RETRAIN}@{multiple}"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One measurement of a job: a readout downstream of a feature after `tasks_seen` tasks.

    readout: its name with its variant, such as `retrain@2+bn`; digest: of the settings that
    determine its result besides the job's fingerprint, empty for the last row of partial
    retraining, whose settings the fingerprint holds; labels: whether the readout is also fitted to
    permuted labels.
    """

    tasks_seen: int
    feature: str
    readout: str
    digest: str = ""
    labels: bool = False

    @property
    def key(self) -> Key:
        """The key of the measurement, unique in the job."""
        return Key(self.tasks_seen, self.feature, self.readout, self.digest)

    @property
    def base(self) -> str:
        """The readout's name without its variant."""
        return self.readout.removesuffix(REESTIMATED).partition("@")[0]

    @property
    def multiple(self) -> int:
        """The multiple of the retraining's epochs."""
        return int(self.readout.removesuffix(REESTIMATED).partition("@")[2] or 1)

    @property
    def reestimated(self) -> bool:
        """Whether batch norm's statistics are estimated on all tasks."""
        return self.readout.endswith(REESTIMATED)


def digest_of(record: Mapping[str, Any]) -> str:
    """Return a hash of settings, eight hexadecimal digits.

    >>> digest_of({"C": 1.0}) == digest_of({"C": 2.0})
    False
    """
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:8]


_FIRST = {"epochs", "batch_size", "optimizer", "learning_rate", "init", "precision"}


def recorded(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe by its fields, without later additions that are at their defaults.

    Results from before a field was added keep their fingerprints, as its default changes nothing.
    """
    values = {each.name: (getattr(recipe, each.name), each.default) for each in fields(recipe)}
    return {n: value for n, (value, usual) in values.items() if n in _FIRST or value != usual}
