"""The measure: the readouts, and when and how often each is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import ValidationError

from probe.by_layer.probing import ProbingSpec, settings_record
from probe.errors import InputError, unknown
from probe.extensions import ReadoutEntry, marks_of
from probe.metrics.murata import RETRAIN
from probe.readouts.readout import OURS, READOUTS, Readout, name_of
from probe.validation import problem, problems
from probe.values.allocation import CacheSettings


@dataclass(frozen=True, kw_only=True)
class Measure:
    """The measurements to make of each network.

    >>> Measure(readouts=["retrain", "linear"], steps={"linear": "all"}, seeds=3).seeds
    3

    - readouts: names, or settings such as `Linear(C=0.1)`;
    - steps: by readout, the numbers of tasks learned after which it is measured, such as [0, 2, 5],
      or `ends` (before any task and after all), `all`, `spread` or `last`. By default retraining is
      measured at the ends and every other readout after every task, of more than ten after ten;
    - seeds: the number of retrainings of each feature of networks in memory. Several give
      intervals, over retrainings and test examples alone;
    - budget: multiples of the recipe's epochs after which a retrained network is tested, ascending;
    - controls: `labels` fits each readout to permuted labels, too, after all tasks;
    - cache: memory and disk for features' values.
    """

    readouts: Sequence[str | Readout] = (RETRAIN, "linear")
    steps: Mapping[str, str | Sequence[int]] = field(default_factory=dict)
    seeds: int = 1
    budget: Sequence[int] = (1,)
    controls: Sequence[str] = ()
    cache: CacheSettings | None = None

    @classmethod
    def of(cls, given: Measure | Sequence[str | Readout]) -> Measure:
        """Return a Measure, made from a list of readouts if need be."""
        return given if isinstance(given, Measure) else cls(readouts=given)

    @property
    def probing(self) -> ProbingSpec:
        """The settings of `[probing]`; raises InputError for invalid values."""
        if type(self.seeds) is not int or self.seeds < 1:
            raise InputError(f"seeds is the number of retrainings, 1 or more, got {self.seeds!r}")
        tables = {
            name: settings_record(readout) for name, readout in readouts_of(self.readouts).items()
        }
        if not isinstance(self.steps, Mapping):
            raise InputError(f"steps are by readout, as {{'linear': 'all'}}, got {self.steps!r}")
        for name, steps in self.steps.items():
            if name not in tables:
                raise unknown("readout of this measure", name, tables)
            tables[name]["steps"] = steps
        given = {"readouts": tables, "budget": self.budget, "controls": self.controls}
        try:
            found = ProbingSpec.model_validate(given)
        except ValidationError as error:
            raise InputError("; ".join(map(problem, problems(error)))) from None
        if "exclusion" in found.controls:
            raise InputError("controls: exclusion trains networks, these are given: leave it out")
        return found

    @property
    def user_defined(self) -> dict[str, ReadoutEntry]:
        """The readouts given by their settings that are not registered by name."""
        settings = readouts_of(self.readouts).values()
        given = [own for each in settings for own in marks_of(type(each), ReadoutEntry)]
        return {own.name: own for own in given if own.name not in OURS}


def readouts_of(given: object) -> dict[str, Readout | None]:
    """Return the readouts by name, with their settings where they were given.

    given: names, or settings such as `Linear(C=0.1)`. Raises InputError for an unknown readout, for
    an empty list, and for two readouts of one name.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        got = repr(given) if isinstance(given, str) else type(given).__name__
        raise InputError(f"readouts must be a list, as ['retrain', 'linear'], got {got}")
    if not given:
        raise InputError(
            f"there are no readouts: name one or more of {', '.join((RETRAIN, *READOUTS))}"
        )
    found: dict[str, Readout | None] = {}
    for each in given:
        name, readout = _readout(each)
        if name in found:
            raise InputError(f"the readout {name!r} is named twice: give it once")
        found[name] = readout
    return found


def _readout(each: object) -> tuple[str, Readout | None]:
    if name := name_of(each):
        return name, cast(Readout, each)
    if not isinstance(each, str):
        raise InputError(
            f"a readout is a name or settings such as Linear(C=0.1), got {type(each).__name__}"
        )
    if each not in (RETRAIN, *READOUTS):
        raise unknown("readout", each, (RETRAIN, *READOUTS))
    return each, None
