"""A watch over a training: what has been lost since its start, measured every few steps."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.parameter import is_lazy

from probe.arguments import checked
from probe.batch import tensor_hash
from probe.before_after.comparison import diff
from probe.before_after.data import as_pairs
from probe.before_after.ranking import interval
from probe.before_after.result import Diff
from probe.errors import InputError
from probe.files import discard
from probe.model import Model
from probe.modules import copied, diverged_in, kept_state
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

    >>> try:
    ...     pass  # your training, with a Recorder(diff=Watch(...))
    ... except TooMuchLost as error:
    ...     print(error.diff, error.last_good)

    Attributes:
        step: The number of steps that this recorder has counted.
        diff: The comparison with the network at the start, None if the network has NaN
            or Inf.
        last_good: The file of the last good network, None if only that at the start was
            good.
    """

    def __init__(
        self, step: int, comparison: Diff | None, last_good: Path | None
    ) -> None:
        event = "the network has NaN or Inf"
        if comparison is not None:
            answer = comparison.answer
            fall = answer.interval(answer.lost)
            event = f"the score on old examples has fallen by {fall}"
            if answer.blocks:
                event += f", the largest share by {answer.blocks[0].block}"
        super().__init__(
            f"after {step} steps {event}; the last good network is "
            f"{last_good or 'that at the start'}"
        )
        self.step = step
        self.diff = comparison
        self.last_good = last_good


@dataclass(kw_only=True, eq=False)
class Watch:
    """A watch over a training, for `Recorder(diff=Watch(old=..., tolerate=0.05))`.

    After every so many calls of `after_step`, or steps of a plugin, the network is
    tested on old examples and compared with the network at the start: the one of the
    recorder's start, or the one that `after_task(0)` saved. While no more is lost than
    is tolerated, the network is saved as the last good one. The training does not
    notice.

    >>> import probe, torch
    >>> from tempfile import TemporaryDirectory
    >>> model = torch.nn.Linear(4, 2)
    >>> old = torch.randn(40, 4), torch.arange(40) % 2
    >>> watch = Watch(old=old, tolerate=0.05, every=1)
    >>> with TemporaryDirectory() as folder:
    ...     rec = probe.Recorder(folder, model, old, tasks=[[0], [1]], diff=watch)
    ...     rec.after_step()  # after each step of your training
    >>> watch.table[["step", "lost"]].values.tolist()
    [[1.0, 0.0]]

    Args:
        old: Test examples of what the network must not lose, as for `probe.diff`.
        new: Test examples of what it is trained for, whose score stands beside.
        tolerate: The amount of the score that may be lost, such as 0.05 of accuracy; it
            is compared with the lower end of the 95 % interval.
        every: The steps between two tests.
        score: The score, as for `probe.diff`.
        stop: Whether `TooMuchLost` stops the training; else `table` only tells.

    Raises:
        InputError: An argument is invalid.
    """

    old: Any
    new: Any = None
    tolerate: float
    every: int = 100
    score: Score = "accuracy"
    stop: bool = True

    def __post_init__(self) -> None:
        check_score(self.score)
        if type(self.every) is not int or self.every < 1:
            raise InputError(
                f"every must be a whole number, 1 or more, got {self.every!r:.40}"
            )
        if (
            not isinstance(self.tolerate, int | float)
            or not 0 <= self.tolerate < math.inf
        ):
            raise InputError(
                f"tolerate must be a number, 0 or more, got {self.tolerate!r:.40}"
            )
        if self.score == "accuracy" and self.tolerate >= 1:
            raise InputError(
                f"tolerate is a share of accuracy: give 0.02 for two points, got "
                f"{self.tolerate}"
            )
        if type(self.stop) is not bool:
            raise InputError(f"stop must be True or False, got {self.stop!r:.40}")
        self._step = 0
        self._rows: list[tuple[float, ...]] = []
        self._last_good: Path | None = None
        self._pairs = as_pairs(self.old, self.new, self.score)

    @property
    def table(self) -> "pd.DataFrame":
        """The tests of this recorder: step, score on old and new examples, and what old lost."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=_COLUMNS).astype({"step": int})

    @checked
    def begin(self, model: Model, folder: Path) -> None:
        """Save the network as the one at the start, or take those that an earlier process saved.

        Args:
            model: The network in training, and its call.
            folder: The folder of the run.

        Raises:
            InputError: It has no shapes yet, receives the task, or fails on the
                examples.
        """
        if model.task_aware:
            raise InputError(
                "diff= has no task ids: record without it, or with another call="
            )
        if any(map(is_lazy, model.network.parameters())):
            raise InputError(
                "the network has no shapes yet: call it on a batch before it is given"
            )
        self._model = model
        self._folder = folder
        self._tests = Tests(model=model, score=self.score, data=self._pairs)
        path = folder / START
        if not path.exists():
            self.restart()
            return
        start = copied(model.network)
        fit_state(start, load_state(path), str(path))
        self._tests.check(start)
        self._take(start)
        if (folder / LAST_GOOD).exists():
            self._last_good = folder / LAST_GOOD
        if tensor_hash(plain_state(start)) != tensor_hash(plain_state(model.network)):
            text = f"the network at the start is that in {path}: after_task(0) begins"
            warnings.warn(f"{text} anew", stacklevel=5)

    def restart(self) -> None:
        """Save the network, as it is now, as the one at the start."""
        self._tests.check(self._model.network)
        discard(self._folder / LAST_GOOD)
        self._last_good = None
        keep_tensors(plain_state(self._model.network), self._folder / START)
        self._take(copied(self._model.network))

    def _take(self, start: nn.Module) -> None:
        self._start = start
        self._before = self._tests.scores(start)

    def after_step(self, lock: Callable[[], None]) -> None:
        """Count a step of the training, and test the network if it is time to.

        Args:
            lock: The function that is called before anything is written.

        Raises:
            TooMuchLost: More is lost than is tolerated.
            NotWritten: The disk is full.
        """
        self._step += 1
        if self._step % self.every:
            return
        lock()
        network = self._model.network
        if diverged_in(network):
            self._rows.append((self._step, *[math.nan] * (len(_COLUMNS) - 1)))
            if self.stop:
                raise TooMuchLost(self._step, None, self._last_good)
            return
        with kept_state(network):
            scores = self._tests.scores(network)
        is_old = self._tests.task_of == 0
        lost = interval((self._before - scores)[is_old], self._tests.is_accuracy)
        new = math.nan
        if not is_old.all():
            new = float(scores[~is_old].mean())
        old = float(scores[is_old].mean())
        self._rows.append((self._step, old, lost.value, lost.low, lost.high, new))
        if lost.low <= self.tolerate:
            self._last_good = self._folder / LAST_GOOD
            keep_tensors(plain_state(network), self._last_good)
        elif self.stop:
            comparison = diff(self._start, self._model, *self._pairs, score=self.score)
            raise TooMuchLost(self._step, comparison, self._last_good)
