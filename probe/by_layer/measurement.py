"""One measurement of a job: confusion counts by head, and the cost of learning.

Only counts are kept, never a score: PRA, F1, rows of R and every other metric are functions of the
counts, so a new metric needs no new run. Notes say what else a reader of the counts must know. This
module converts measurements to JSON and back, and rejects impossible ones; `probe.by_layer.store`
writes and checks the files. Confusion matrices are packed in base64, with cells as narrow as
possible, as a study of many classes has thousands of them.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from probe.by_layer.probing import DIAGNOSTICS
from probe.metrics.counts import Counts
from probe.metrics.outcomes import Outcomes
from probe.training.costs import Cost
from probe.training.history import History

_HEADS = ({"single", "multi", "all"}, {"multi"})  # of a step; the latter if told the task
_COST, _SECONDS, _STUCK = "cost", "seconds", "stuck"  # in a checkpoint, beside the learner's own
_LONGEST = 10_000  # characters of a note: in a file, more is damage
_KINDS = ("<u1", "<u2", "<u4", "<i8")  # of cells: the first that has room for all of them


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Resources spent on learning a task.

    cost: bytes kept and operations counted, see `probe.training.costs.Cost`; seconds: processor
    time or, on a GPU, wall time, see `probe.tables.rows.TimeRow`; stuck: whether the loss never
    left its first value, see `probe.training.history.never_left`. Raises ValueError for costs that
    are not integers from 0 to 2^63 - 1, and for seconds that are negative or not finite.
    """

    cost: Cost
    seconds: float
    stuck: bool = False

    def __post_init__(self) -> None:
        # Not isinstance, which takes True for a number.
        whole = all(type(n) is int and 0 <= n < 2**63 for n in vars(self.cost).values())
        seconds = self.seconds
        if (
            not whole
            or type(self.stuck) is not bool
            or type(seconds) is bool
            or not (math.isfinite(seconds) and seconds >= 0)
        ):
            raise ValueError(f"nothing can have cost that: {self}")

    def to_state(self) -> dict[str, Tensor]:
        """Return it as tensors for a checkpoint; `of_state` is the inverse."""
        seconds = torch.tensor(self.seconds, dtype=torch.float64)
        stuck = {_STUCK: torch.tensor(self.stuck)} if self.stuck else {}
        return {_COST: self.cost.to_tensor(), _SECONDS: seconds, **stuck}

    @classmethod
    def of_state(cls, state: dict[str, Tensor]) -> Spent:
        """Remove the tensors of `to_state` from a checkpoint's; raises KeyError without them."""
        return cls(
            cost=Cost.of_tensor(state.pop(_COST)),
            seconds=float(state.pop(_SECONDS).double()),
            stuck=state.pop(_STUCK, None) is not None,
        )


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One measurement: confusion counts by head, resources spent on it, and notes.

    - counts: by head, the T tables (K, K) of a `TaskCounts`, true class x predicted class. A
      readout is trained on all classes and has the head `single` alone; a learner that must be told
      the task has `multi` alone, any other all three heads; diagnostics have no counts;
    - right: by head, which test examples were classified right, sorted by executed task and, within
      a task, by class; empty in results of versions that did not keep it. A step keeps it for one
      head only;
    - spent: None where no task was learned for the measurement;
    - history: of the retraining, None where nothing was retrained;
    - values: diagnostics by name, see `probe.by_layer.reader`;
    - notes: sentences that a reader of the counts must know.
    """

    counts: Mapping[str, tuple[Counts, ...]]
    right: Mapping[str, Outcomes] = field(default_factory=dict)
    spent: Spent | None = None
    history: History | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values; `of_record` is the inverse."""
        record: dict[str, Any] = {
            "counts": {head: _packed(tables) for head, tables in self.counts.items()},
            "spent": None if self.spent is None else _plain(self.spent),
        }
        # Only if there are any: files without them equal those of earlier versions.
        later = {
            "right": {head: own.to_record() for head, own in self.right.items()},
            "history": None if self.history is None else asdict(self.history),
            # JSON has no NaN.
            "values": {n: None if math.isnan(x) else x for n, x in self.values.items()},
            "notes": list(self.notes),
        }
        return record | {name: value for name, value in later.items() if value}

    @classmethod
    def of_record(cls, part: str, record: Mapping[str, Any]) -> Measurement:
        """Return the measurement of a record of `to_record`.

        part: its name, which determines the heads. Raises KeyError, ValueError, TypeError or
        OverflowError for an impossible record; the store treats each as a corrupt file.
        """
        counts, spent = dict(record["counts"]), record["spent"]
        # A metric that needs a missing head would notice only much later.
        if set(counts) not in _heads_of(part):
            raise ValueError(f"{part} has not the heads {', '.join(counts)}")
        tables = {head: _unpacked(each) for head, each in counts.items()}
        return cls(
            counts=tables,
            right=_right(record["right"], tables) if "right" in record else {},
            spent=None if spent is None else _spent(spent),
            history=_history(record["history"]) if "history" in record else None,
            values=_values(record["values"]) if DIAGNOSTICS in part else {},
            notes=_notes(record["notes"]) if "notes" in record else (),
        )


def _heads_of(part: str) -> Sequence[set[str]]:
    """Return the heads that a measurement can have."""
    if part.startswith("step-"):
        return _HEADS
    return [set()] if DIAGNOSTICS in part else [{"single"}]


def _values(record: Mapping[str, Any]) -> dict[str, float]:
    """Return numbers by name, from their JSON; raises ValueError for anything else."""
    values = dict(record)
    if any(x is not None and type(x) is not float for x in values.values()):
        raise ValueError("expected numbers by name")
    return {str(name): math.nan if x is None else x for name, x in values.items()}


def _right(
    record: Mapping[str, Any], counts: Mapping[str, tuple[Counts, ...]]
) -> dict[str, Outcomes]:
    """Return which examples were right, by head; raises ValueError where it contradicts counts."""
    found = {head: Outcomes.of_record(own) for head, own in dict(record).items()}
    for head, own in found.items():
        tables = [counts_.table for counts_ in counts[head]]
        true = sum(int(table.sum()) for table in tables)
        right = sum(int(np.trace(table)) for table in tables)
        if (own.size, int(own.right.sum())) != (true, right):
            raise ValueError("what was right does not fit the counts")
    return found


def _history(record: Mapping[str, Any]) -> History:
    """Return a training's history, from its JSON; raises what `History` and a missing key raise."""
    return History(losses=tuple(record["losses"]), accuracies=tuple(record["accuracies"]))


def _plain(spent: Spent) -> dict[str, Any]:
    """Return the resources spent as JSON values."""
    record = asdict(spent)
    # As earlier versions wrote it, unless there is something to say.
    return record if spent.stuck else {k: v for k, v in record.items() if k != "stuck"}


def _spent(record: Mapping[str, Any]) -> Spent:
    """Return the resources spent, from their JSON; raises what `Spent` and a missing key raise."""
    own = dict(record)
    stuck = own.get("stuck", False)
    return Spent(cost=Cost(**own["cost"]), seconds=own["seconds"], stuck=stuck)


def _notes(record: object) -> tuple[str, ...]:
    """Return notes, from their JSON; raises ValueError for anything but non-empty sentences."""
    if not isinstance(record, list) or not record:
        raise ValueError("expected a list of notes")
    for note in record:
        if not isinstance(note, str) or not 0 < len(note) <= _LONGEST:
            raise ValueError("expected notes of some length")
        note.encode()  # half a surrogate pair could not be written into a table
    return tuple(record)


def _packed(tables: Sequence[Counts]) -> dict[str, Any]:
    """Return n tables as JSON: their cells row by row, little-endian, in base64.

    Decimal digits would take thirty times as long to read. All tables of a head share one width,
    chosen by their largest cell.
    """
    cells = np.stack([counts.table for counts in tables])
    # The width follows from the counts alone, so the same counts give the same bytes.
    kind = next(kind for kind in _KINDS if cells.max(initial=0) <= np.iinfo(kind).max)
    text = base64.b64encode(cells.astype(kind).tobytes()).decode()
    return {"shape": cells.shape, "kind": kind, "cells": text}


def _unpacked(record: dict[str, Any]) -> tuple[Counts, ...]:
    """Return the tables of `_packed`; raises KeyError, ValueError or TypeError if damaged."""
    if record["kind"] not in _KINDS:
        raise ValueError(f"expected cells of one of the kinds {_KINDS}")
    cells = np.frombuffer(base64.b64decode(record["cells"], validate=True), record["kind"])
    if not cells.size:
        raise ValueError("expected at least one table")
    return Counts.each(cells.reshape(record["shape"]))
