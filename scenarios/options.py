"""The flags of `probe run`, `probe model` and `probe figures`: one frozen object for each command.

Each field is a flag with its help; `scenarios.commands.parsing` makes the command line of it. An
object is checked when it is made, so that later code never meets contradictory flags.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self, TypeVar

from probe.byte_sizes import parse_size
from probe.errors import InputError, unknown

_Item = TypeVar("_Item")

EXECUTORS = ("inline", "pool", "ray")
"""The executors by name, as `--executor` takes them."""

_ADDRESS = r"auto|(?:ray://)?[^/\s]+:[0-9]{1,5}"
_LEAST_SHARE = 0.001  # of a GPU; Ray counts in ten thousandths
_MOST_WORKERS = 10_000  # more is a slip of the pen


@dataclass(frozen=True)
class Shard:
    """One of several processes that share a run directory without talking to each other.

    number: from 1 to `of`, the number of processes. All do the same study; each begins with jobs of
    its own, and the locks of jobs keep two from doing the same one.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `i/n`; raises InputError for anything else.

        >>> Shard.parse("2/8")
        Shard(number=2, of=8)
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(f"--shard expects i/n with i from 1 to n, as 3/8, got {text!r}")
        return cls(int(match[1]), int(match[2]))

    def order(self, jobs: Sequence[_Item]) -> list[_Item]:
        """Return all jobs: first every n-th, its own, then those of the others from their end.

        So it helps where most is left, and meets the others as late as possible.

        >>> Shard(2, 3).order("abcdefg")
        ['b', 'e', 'f', 'c', 'g', 'd', 'a']
        """
        # Every n-th and not a block: slow and fast learners are shared out evenly.
        own, *others = (jobs[(self.number - 1 + k) % self.of :: self.of] for k in range(self.of))
        return [*own, *(job for other in others for job in reversed(other))]


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """The flags of `probe run` and `probe model` alike: how and where the jobs are done.

    None = not given. Only `device` can change a result. Raises InputError for impossible values.
    """

    load: Annotated[
        tuple[str, ...] | None,
        "A Python FILE.py or module that registers networks, data, learners or metrics; "
        "repeatable.",
    ] = None
    out: Annotated[Path | None, "Run directory; runs/NAME by default."] = None
    recompute: Annotated[
        str | None, "changed: rerun the jobs whose results were computed by other code."
    ] = None
    workers: Annotated[
        int | None, "Jobs to run in parallel; by default one for each core or GPU."
    ] = None
    shard: Annotated[
        str | None, "Run as process i of n that share a run directory, given as i/n."
    ] = None
    device: Annotated[str, "cpu, cuda or cuda:N."] = "cpu"
    cache_budget: Annotated[
        str | None,
        "Memory for cached activations, such as 4GB; half of the free memory by default.",
    ] = None
    dry_run: Annotated[
        bool,
        "Show the jobs, training steps and memory that the command would need; write nothing.",
    ] = False

    def __post_init__(self) -> None:
        if self.recompute not in (None, "changed"):
            raise InputError(f"--recompute expects changed, got {self.recompute!r}")
        if self.workers is not None and not 1 <= self.workers <= _MOST_WORKERS:
            bound = "1 or more" if self.workers < 1 else f"{_MOST_WORKERS} or less"
            raise InputError(f"--workers must be {bound}, got {self.workers}")
        # An unreadable value is refused at once, not when it is used.
        _ = self.part, self.cache_bytes

    @property
    def part(self) -> Shard | None:
        """This process among several; None if it waits for jobs that others do."""
        return None if self.shard is None else Shard.parse(self.shard)

    @property
    def cache_bytes(self) -> int | None:
        """Bytes for cached activations, all workers together; None = half of the free memory."""
        size = self.cache_budget
        return None if size is None else parse_size(size, "--cache-budget")


@dataclass(frozen=True, kw_only=True)
class RunOptions(JobOptions):
    """The flags of `probe run` as they were typed, each with its help; None = not given.

    The first ten change the study, see `scenarios.study.source.overridden`. Raises InputError for
    impossible values, and for flags that do not fit together.

    >>> RunOptions(executor="inline", workers=1).shard is None
    True
    """

    learners: Annotated[str | None, "Run only these learners, such as er,si."] = None
    seeds: Annotated[int | None, "Number of seeds."] = None
    orders: Annotated[str | None, "Task orders: rotate, none or shuffle:N."] = None
    epochs: Annotated[int | None, "Epochs of training and retraining."] = None
    train_limit: Annotated[int | None, "Training examples per class."] = None
    validation: Annotated[
        int | None, "Test on this many held-out training examples per class instead."
    ] = None
    sets: Annotated[str | None, "Other data: NAME or A.npz,B.npz."] = None
    budget: Annotated[
        str | None, "Test after these multiples of the retraining epochs, such as 1,2,4."
    ] = None
    heads: Annotated[str | None, "Heads to report: any of single,multi,all."] = None
    weights: Annotated[
        tuple[str, ...] | None, "Weights of a CLscore, NAME=w1,...,w7; repeatable."
    ] = None
    data: Annotated[Path | None, "Data folder; PROBE_DATA by default."] = None
    download: Annotated[bool, "Download missing data."] = False
    executor: Annotated[
        str | None, "inline, pool or ray; pool by default for more than one worker."
    ] = None
    ray_address: Annotated[
        str | None, "Address of a Ray cluster, or auto; a local cluster by default."
    ] = None
    gpus_per_job: Annotated[float | None, "Share of a GPU for each job on Ray; 1 by default."] = (
        None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.executor is not None and self.executor not in EXECUTORS:
            raise unknown("executor", self.executor, EXECUTORS)
        if self.executor == "inline" and self.workers not in (None, 1):
            raise InputError(
                f"--executor inline is this process alone, got --workers {self.workers}: use "
                f"--executor pool"
            )
        if self.executor == "ray" and self.shard is not None:
            raise InputError(
                "--shard is for processes without Ray, which distributes the jobs itself: leave "
                "one of the two out"
            )
        ray = {"--ray-address": self.ray_address, "--gpus-per-job": self.gpus_per_job}
        if self.executor != "ray":
            for flag in (flag for flag, value in ray.items() if value is not None):
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
    def remote(self) -> bool:
        """Whether jobs may run on machines with other devices than this one has."""
        return self.executor == "ray" and self.ray_address is not None


@dataclass(frozen=True, kw_only=True)
class FigureOptions:
    """The flags of `probe figures`, as they were typed; None = not given."""

    only: Annotated[str | None, "Figures to draw, such as depth,layers; all by default."] = None
    format: Annotated[str | None, "Any of pdf,png,svg; pdf by default."] = None
    width: Annotated[float | None, "Width of a figure in inches, 1 to 30."] = None
    font_size: Annotated[float | None, "Font size of titles and labels in points, 4 to 30."] = None
    font: Annotated[str | None, "serif, sans-serif, monospace or an installed font."] = None
    learners: Annotated[str | None, "Learners in the order to draw them, such as er,si."] = None
    label: Annotated[
        tuple[str, ...] | None, "Printed name of a learner, er='Replay (ours)'; repeatable."
    ] = None
    readouts: Annotated[str | None, "Readouts, such as retrain,linear; all by default."] = None
    out: Annotated[Path | None, "Folder to write to; DIR/figures/asked by default."] = None


def names(text: str) -> list[str]:
    """Return the entries of a comma-separated flag, stripped; an empty entry stays.

    >>> names("er, si")
    ['er', 'si']
    """
    return [name.strip() for name in text.split(",")]
