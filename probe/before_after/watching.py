"""A watch over a training: what has been lost since its start, measured every few steps."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from probe.batch import identical
from probe.before_after.comparison import diff
from probe.before_after.data import Pair, as_pair
from probe.before_after.ranking import interval
from probe.before_after.result import Diff
from probe.errors import InputError
from probe.model import Model
from probe.modules import copied, kept_buffers
from probe.reading.item_format import same_form
from probe.record.state_files import fit_state, keep_tensors, load_state, plain_state
from probe.rewinding.scoring import Score, Tests, check_score

if TYPE_CHECKING:
    import pandas as pd

START = "start.pt"
LAST_GOOD = "last-good.pt"
"""The files in the folder of a run: the network at the start, and the last one that was good."""

_COLUMNS = ["step", "old", "lost", "lost_low", "lost_high", "new"]


class TooMuchLost(Exception):
    """A training that was stopped, as more was lost than is tolerated.

    Attributes:
        step: The number of steps.
        diff: The comparison with the network at the start.
        last_good: The file of the last good network, None if there was none.
    """

    def __init__(self, step: int, comparison: Diff, last_good: Path | None) -> None:
        answer = comparison.answer
        unit = " points" if answer.is_accuracy else ""
        block = f", most of it by {answer.blocks[0].block}" if answer.blocks else ""
        where = last_good or "nowhere: no network was good"
        super().__init__(
            f"after {step} steps {answer.interval(answer.lost)}{unit} of the old examples are lost"
            f"{block}; the last good network is {where}"
        )
        self.step = step
        self.diff = comparison
        self.last_good = last_good


@dataclass(kw_only=True, eq=False)
class Watch:
    """A watch over a training, for `Recorder(diff=Watch(old=..., tolerate=0.05))`.

    After every so many calls of `after_step`, or steps of a plugin, the network is tested on old
    examples and compared with the network at the start: that which the recorder was made with, or
    which `after_task(0)` saved. While no more is lost than is tolerated, the network is saved as
    the last good one. The training does not notice.

    Args:
        old: Test examples of what the network must not lose, as for `probe.diff`.
        new: Test examples of what it is trained for, whose score stands beside.
        tolerate: The amount of the score that may be lost, such as 0.05 of accuracy; it is compared
            with the lower end of the 95 % interval.
        every: The steps between two tests.
        score: The score, as for `probe.diff`.
        stop: Whether `TooMuchLost` stops the training; else a warning is given once.

    Raises:
        InputError: An argument is invalid.
    """

    old: Any
    new: Any = None
    tolerate: float
    every: int = 100
    score: Score = "accuracy"
    stop: bool = True
    _step: int = field(default=0, init=False)
    _rows: list[tuple[float, ...]] = field(default_factory=list, init=False)
    _has_warned: bool = field(default=False, init=False)
    _last_good: Path | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_score(self.score)
        if type(self.every) is not int or self.every < 1:
            raise InputError(f"every must be a whole number, 1 or more, got {self.every!r:.40}")
        if not isinstance(self.tolerate, int | float) or not 0 <= self.tolerate < math.inf:
            raise InputError(f"tolerate must be a number, 0 or more, got {self.tolerate!r:.40}")
        self._pairs: list[Pair] = [as_pair(self.old, "old")]
        if self.new is not None:
            x, y = as_pair(self.new, "new")
            self._pairs.append((same_form(x, self._pairs[0][0]), y))

    @property
    def table(self) -> pd.DataFrame:
        """The tests so far: step, the score on old and new examples, and what is lost of old."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=_COLUMNS).astype({"step": int})

    def begin(self, network: nn.Module, model: Model, folder: Path, *, resumes: bool) -> None:
        """Take a network as that at the start, see `probe.record.watching.Watcher`.

        Raises:
            InputError: It has no shapes yet, receives the task, or fails on the examples.
        """
        if model.task_aware:
            raise InputError("diff= has no task ids: record without it, or with another call=")
        if any(map(is_lazy, network.parameters())):
            raise InputError("the network has no shapes yet: pass it a batch before diff= is given")
        path = folder / START
        start = copied(network)
        self._is_kept = resumes and path.exists()
        if self._is_kept:
            fit_state(start, load_state(path), str(path))
            pairs = zip(start.state_dict().values(), network.state_dict().values(), strict=True)
            if not all(identical(saved, now) for saved, now in pairs):
                text = f"the start is {path}, not the network as it is: after_task(0) begins anew"
                warnings.warn(text, stacklevel=3)
        self._start = start
        self._folder = folder
        self._model = model
        self._tests = Tests(model=model, score=self.score, data=self._pairs)
        self._before = self._tests.scores(start, 1, everywhere=True)

    def count_step(self) -> bool:
        """Count a step of the training, and return whether a test is due."""
        self._step += 1
        return self._step % self.every == 0

    def check(self, network: nn.Module) -> None:
        """Test the network as it is now.

        Raises:
            TooMuchLost: More is lost than is tolerated.
            NotWritten: The disk is full.
        """
        if not self._is_kept:
            keep_tensors(plain_state(self._start), self._folder / START)
            self._is_kept = True
        with kept_buffers(network):
            scores = self._tests.scores(network, 1, everywhere=True)
        is_old = self._tests.task_of == 0
        lost = interval((self._before - scores)[is_old], self.score == "accuracy")
        new = math.nan if is_old.all() else float(scores[~is_old].mean())
        row = (self._step, float(scores[is_old].mean()), lost.value, lost.low, lost.high, new)
        self._rows.append(row)
        if lost.low <= self.tolerate:
            self._last_good = self._folder / LAST_GOOD
            keep_tensors(plain_state(network), self._last_good)
        elif self.stop:
            raise TooMuchLost(self._step, self._compare(network), self._last_good)
        elif not self._has_warned:
            self._has_warned = True
            text = f"after {self._step} steps {lost.value:.3g} is lost of the old examples"
            warnings.warn(f"{text}, {lost.low:.3g} or more", stacklevel=3)

    def _compare(self, network: nn.Module) -> Diff:
        """Compare the network at the start with the network as it is now."""
        after = replace(self._model, network=network)
        new = self._pairs[1] if self.new is not None else None
        with torch.enable_grad():
            return diff(self._start, after, self._pairs[0], new, score=self.score)
