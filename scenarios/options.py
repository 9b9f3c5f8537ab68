"""The flags of `probe run` and of `probe figures`: a frozen object each, from there to the work.

Each field of `RunOptions` is a flag, named and explained by the field itself: `scenarios.commands`
makes the command line of it. The object is checked as a whole when it is made, so nothing behind it
meets flags that contradict each other. What changes the study is applied by
`scenarios.study.source.overridden`; the rest says where and how the jobs are done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from probe.errors import InputError, unknown
from probe.memory import parse_size

_Item = TypeVar("_Item")

EXECUTORS = ("inline", "pool", "ray")
"""What `--executor` can name."""

_ADDRESS = r"auto|(?:ray://)?[^/\s]+:[0-9]{1,5}"
_LEAST_SHARE = 0.001  # of a GPU; Ray counts in ten thousandths
_MOST_WORKERS = 10_000  # more is a slip of the pen


@dataclass(frozen=True)
class Shard:
    """One of several processes that share a run directory without talking to each other.

    number: which it is, from 1; of: how many there are. All do the same study; each begins with
    jobs of its own, and the locks of jobs keep two from doing the same one.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `i/n`; raises InputError for anything else.

        >>> Shard.parse("2/8")
        Shard(number=2, of=8)
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(f"--shard expects i/n with i from 1 to n, as 3/8, got {text!r}")
        return cls(int(match[1]), int(match[2]))

    def order(self, jobs: Sequence[_Item]) -> list[_Item]:
        """Return all jobs, its own first: every n-th. Then those of the others, from their end.

        So it helps where most is left, and meets the others as late as can be.

        >>> Shard(2, 3).order("abcdefg")
        ['b', 'e', 'f', 'c', 'g', 'd', 'a']
        """
        # Every n-th and not a block: so slow and fast learners are shared out evenly.
        own = list(jobs[self.number - 1 :: self.of])
        later = (jobs[(self.number - 1 + k) % self.of :: self.of] for k in range(1, self.of))
        return own + [job for part in later for job in reversed(part)]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The flags of `probe run` as they were typed, each with its help; None = not given.

    The first ten change the study; of the others only `device` can change a result. Raises
    InputError for values that cannot be, and for flags that do not fit together.

    >>> RunOptions(executor="inline", workers=1).shard is None
    True
    """

    learners: Annotated[str | None, "Only these, as a,b."] = None
    seeds: Annotated[int | None, "Number of seeds."] = None
    orders: Annotated[str | None, "rotate, none or shuffle:N."] = None
    epochs: Annotated[int | None, "Of training and retraining."] = None
    train_limit: Annotated[int | None, "Training examples per class."] = None
    validation: Annotated[int | None, "Test on this many training examples per class instead."] = (
        None
    )
    sets: Annotated[str | None, "Other data, as NAME or A.npz,B.npz."] = None
    budget: Annotated[
        str | None, "Multiples of the retraining's epochs to test after, as 1,2,4."
    ] = None
    heads: Annotated[str | None, "To report, of single,multi,all."] = None
    weights: Annotated[
        tuple[str, ...] | None, "A weighting of CLscore, NAME=w1,...,w7; repeatable."
    ] = None
    load: Annotated[
        tuple[str, ...] | None,
        "A Python FILE.py or module that registers networks, data, learners or metrics; "
        "repeatable.",
    ] = None
    out: Annotated[Path | None, "Run directory; runs/NAME by default."] = None
    data: Annotated[Path | None, "Data folder; or set PROBE_DATA."] = None
    download: Annotated[bool, "Fetch missing data."] = False
    recompute: Annotated[
        str | None, "changed: do the jobs again whose results other code has made."
    ] = None
    executor: Annotated[
        str | None, "inline, pool or ray; pool where there is more than one worker."
    ] = None
    workers: Annotated[int | None, "Jobs side by side; all cores or GPUs by default."] = None
    ray_address: Annotated[
        str | None, "Of a Ray cluster, or auto; one of this machine by default."
    ] = None
    gpus_per_job: Annotated[
        float | None, "Share of a GPU that a job takes on Ray; 1 by default."
    ] = None
    shard: Annotated[str | None, "This is process i of n on one run directory, as i/n."] = None
    device: Annotated[str, "cpu, cuda or cuda:N."] = "cpu"
    cache_budget: Annotated[
        str | None, "Memory for features' values, as 4GB; half of what is free."
    ] = None
    dry_run: Annotated[
        bool, "Only print what would be done, in what memory and about how long; write nothing."
    ] = False

    def __post_init__(self) -> None:
        if self.executor is not None and self.executor not in EXECUTORS:
            raise unknown("executor", self.executor, EXECUTORS)
        if self.recompute not in (None, "changed"):
            raise InputError(f"--recompute expects changed, got {self.recompute!r}")
        if self.workers is not None and not 1 <= self.workers <= _MOST_WORKERS:
            bound = "1 or more" if self.workers < 1 else f"{_MOST_WORKERS} or less"
            raise InputError(f"--workers must be {bound}, got {self.workers}")
        if self.executor == "inline" and self.workers not in (None, 1):
            raise InputError(
                f"--executor inline is this process alone, got --workers {self.workers}: use "
                f"--executor pool"
            )
        self._check_ray()
        # What cannot be read is refused at once, not when it is used.
        _ = self.part, self.cache_bytes

    def _check_ray(self) -> None:
        """Raise InputError for flags of Ray's without Ray, and for values that it cannot take."""
        if self.executor == "ray" and self.shard is not None:
            raise InputError(
                "--shard is for processes without Ray, which deals out the jobs itself"
            )
        if self.executor != "ray":
            given = (("--ray-address", self.ray_address), ("--gpus-per-job", self.gpus_per_job))
            for flag, value in given:
                if value is not None:
                    raise InputError(f"{flag} is for Ray: add --executor ray, or leave it out")
        if self.ray_address is not None and not re.fullmatch(_ADDRESS, self.ray_address):
            raise InputError(
                f"--ray-address expects HOST:PORT, ray://HOST:PORT or auto, got "
                f"{self.ray_address!r}"
            )
        if self.gpus_per_job is not None and not _LEAST_SHARE <= self.gpus_per_job <= 1:
            raise InputError(
                f"--gpus-per-job is a share of one GPU, from {_LEAST_SHARE} to 1, got "
                f"{self.gpus_per_job}"
            )

    @property
    def part(self) -> Shard | None:
        """Which of several processes this is, None if it waits for what others do."""
        return None if self.shard is None else Shard.parse(self.shard)

    @property
    def cache_bytes(self) -> int | None:
        """Bytes of memory for features' values, of all workers together; None = half the free."""
        size = self.cache_budget
        return None if size is None else parse_size(size, "--cache-budget")

    @property
    def remote(self) -> bool:
        """Whether jobs may be done on machines with other devices than this one has."""
        return self.executor == "ray" and self.ray_address is not None


def names(text: str) -> list[str]:
    """Return the entries of a comma-separated flag, without blanks around them.

    An empty entry stays, for who reads the flag to refuse.

    >>> names("er, si")
    ['er', 'si']
    """
    return [name.strip() for name in text.split(",")]


@dataclass(frozen=True, kw_only=True)
class FigureOptions:
    """The flags of `probe figures`, as they were typed; None = not given."""

    only: Annotated[str | None, "Figures, as depth,layers; all by default."] = None
    format: Annotated[str | None, "pdf, png or svg, or several; pdf by default."] = None
    width: Annotated[float | None, "Of a figure, in inches, 1 to 30."] = None
    font_size: Annotated[float | None, "Of titles and labels, in points, 4 to 30."] = None
    font: Annotated[str | None, "serif, sans-serif, monospace or an installed font."] = None
    learners: Annotated[str | None, "Learners, as er,si, in the order to draw them."] = None
    label: Annotated[
        tuple[str, ...] | None, "A learner's name in print, as er='Replay (ours)'."
    ] = None
    readouts: Annotated[str | None, "Readouts, as retrain,linear; all by default."] = None
    out: Annotated[Path | None, "Folder to write to; DIR/figures/asked by default."] = None
