"""Measurements: confusion counts by head, and the cost of learning, for one part of a job.

Only counts are kept, never a score: PRA, F1, rows of R and every other metric are functions of
the counts, so a new metric needs no new run. This module turns a measurement into JSON and back;
`probe.by_layer.store` keeps it in a file with a hash. Of confusion matrices only the cells that are
not 0 are written, as a study of many tasks has thousands of large ones.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from probe.metrics.counts import ConfusionCounts, Counts
from probe.metrics.outcomes import Outcomes
from probe.training.costs import Cost
from probe.training.history import History

_COST, _SECONDS, _STUCK = "cost", "seconds", "stuck"  # in a checkpoint, beside the learner's own
_KINDS = ("<u1", "<u2", "<u4", "<i8")  # of cells: the first that has room for all of them


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Resources spent on learning a task.

    cost: bytes kept and operations counted, see `probe.training.costs.Cost`; seconds: of the
    processor or, on a GPU, of the clock, see `probe.tables.rows.TimeRow`; stuck: whether the loss
    never left its first value, see `probe.training.history.never_left`.
    """

    cost: Cost
    seconds: float
    stuck: bool = False

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
      readout of all classes has the head `single` alone, one of each task's `multi`; a learner that
      must be told the task has `multi` alone, any other all three; diagnostics have no counts;
    - right: by head, which test examples were classified right, sorted by executed task and, within
      a task, by class; a step has it for one head alone;
    - spent: None where no task was learned for the measurement;
    - history: of the retraining, None where nothing was retrained;
    - values: diagnostics by name, see `probe.by_layer.reader`; of a readout `control`, its accuracy
      on permuted training labels, if it was fitted to them, too;
    - notes: sentences that a reader of the counts must know.
    """

    counts: Mapping[str, Sequence[Counts]]
    right: Mapping[str, Outcomes] = field(default_factory=dict)
    spent: Spent | None = None
    history: History | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values; `of_record` is the inverse."""
        record: dict[str, Any] = {
            "counts": {head: _packed(tables) for head, tables in self.counts.items()},
            "spent": None if self.spent is None else asdict(self.spent),
        }
        later = {
            "right": {head: own.to_record() for head, own in self.right.items()},
            "history": None if self.history is None else asdict(self.history),
            # JSON has no NaN.
            "values": {n: None if math.isnan(x) else x for n, x in self.values.items()},
            "notes": list(self.notes),
        }
        return record | {name: value for name, value in later.items() if value}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Measurement:
        """Return what `to_record` gave; raises KeyError, ValueError or TypeError for all else."""
        counts, spent, history = record["counts"], record["spent"], record.get("history")
        right = record["right"] if counts else {}
        values = record.get("values", {})
        return cls(
            counts={head: _unpacked(each) for head, each in counts.items()},
            right={head: Outcomes.of_record(own) for head, own in right.items()},
            spent=Spent(**spent | {"cost": Cost(**spent["cost"])}) if spent else None,
            history=History(**{k: tuple(own) for k, own in history.items()}) if history else None,
            values={name: math.nan if x is None else x for name, x in values.items()},
            notes=tuple(record.get("notes", ())),
        )


def _packed(tables: Sequence[Counts]) -> dict[str, Any]:
    """Return n tables (K, K) as JSON: the distances between cells that are not 0, and the counts.

    Each as bytes, little-endian, compressed, in base64: digits take far longer to read.
    """
    own = ConfusionCounts.joined(tables)
    steps = _text(np.diff(own.cells, prepend=0))
    return {"shape": (len(own), own.classes), "cells": steps, "counts": _text(own.numbers)}


def _unpacked(record: Mapping[str, Any]) -> ConfusionCounts:
    """Return the tables that `_packed` gave; raises KeyError, ValueError or TypeError for less."""
    (n, K), cells = record["shape"], np.cumsum(_values(record["cells"]))
    numbers = _values(record["counts"])
    if len(cells) != len(numbers) or cells.max(initial=-1) >= n * K * K:
        raise ValueError(f"no {n} tables of {K} classes")
    return ConfusionCounts(n, K, cells, numbers)


def _text(values: NDArray[np.int64]) -> str:
    # The width follows from the values alone, so the same counts give the same bytes.
    kind = next(kind for kind in _KINDS if values.max(initial=0) <= np.iinfo(kind).max)
    return kind + base64.b64encode(zlib.compress(values.astype(kind).tobytes())).decode()


def _values(text: str) -> NDArray[np.int64]:
    try:
        content = zlib.decompress(base64.b64decode(text[3:], validate=True))
    except zlib.error as error:  # which is no ValueError
        raise ValueError(str(error)) from None
    return np.frombuffer(content, text[:3]).astype(np.int64)
