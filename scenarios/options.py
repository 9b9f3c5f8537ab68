"""Flags of the commands that pass them on: one frozen object for each of these commands.

Each field is a flag with its help; `scenarios.commands.parsing` builds the command line
from it. An object is checked when it is created, so that later code never meets
contradictory flags.
"""

import re
from collections.abc import Sequence
from dataclasses import MISSING, field, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from probe.errors import InputError, check_known
from probe.immutable import immutable

_Item = TypeVar("_Item")

EXECUTORS = ("inline", "pool", "ray")
"""The executors by name, as `--executor` takes them."""

_ADDRESS = r"auto|(?:ray://)?[^/\s]+:[0-9]{1,5}"
_LEAST_SHARE = 0.001  # of a GPU; Ray counts in ten thousandths
_MOST_WORKERS = 10_000  # more is a slip of the pen

# Bytes by unit: none, b, kb (1000), mb, gb, tb, and kib (1024), mib, gib, tib.
_UNITS = {"": 1} | {f"{letter}b": 1000**k for k, letter in enumerate(["", *"kmgt"])}
_UNITS |= {f"{letter}ib": 1024**k for k, letter in enumerate("kmgt", 1)}
_DIGITS = 18


def parse_size(text: str, name: str) -> int:
    """Parse a size such as 500MB (10^6), 1.5GiB (2^30) or 4096.

    Args:
        text: The size.
        name: The name of the size in the error message.

    Returns:
        The number of bytes.

    Raises:
        InputError: The text is not such a size.

    >>> parse_size("500MB", "--cache-budget"), parse_size("2GiB", "--cache-budget")
    (500000000, 2147483648)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", text.strip().lower())
    # More than 18 digits are no size of any memory, and too many for a number with a
    # fraction.
    if not match or match[2] not in _UNITS or len(match[1]) > _DIGITS:
        raise InputError(
            f"{name} expects a size such as 500MB, 2GiB or plain bytes, got {text!r}"
        )
    return int(Decimal(match[1]) * _UNITS[match[2]])


def weightings(texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Parse the flag --weights: the weights of CLscore by the name of their weighting.

    The sum of the weights is checked later.

    Args:
        texts: The weightings as NAME=w1,...,w7.

    Raises:
        InputError: A text has another form.
    """
    weights: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, _, numbers = (piece.strip() for piece in text.partition("="))
        try:
            weights[name] = tuple(map(float, numbers.split(",")))
        except ValueError:
            raise InputError(
                f"--weights expects NAME=w1,...,w7, got {text!r}"
            ) from None
    return weights


def flag(text: str, default: Any = None, metavar: str | None = None) -> Any:
    """Define a flag.

    Args:
        text: The help of the flag.
        default: The default value; with MISSING the flag is required.
        metavar: The name of the value in the help.

    Returns:
        The field of a dataclass.
    """
    return field(default=default, metadata={"help": text, "metavar": metavar})


@immutable
class JobOptions:
    """The flags that `probe run` and `probe model` share: how and where jobs run.

    None = not given. Only `device` can change a result; `controls` adds results. Raises
    InputError for impossible values.
    """

    load: tuple[str, ...] | None = flag(
        "FILE.py or module that registers objects; or, to load networks, MODULE:LOAD "
        "of a path."
    )
    out: Path | None = flag("Run directory; runs/NAME by default.")
    report: Path | None = flag("Write DIR/report.html to FILE as well.", metavar="FILE")
    recompute: str | None = flag(
        "changed: rerun the jobs whose results come from different code."
    )
    workers: int | None = flag(
        "Jobs to run in parallel; by default one for each core or GPU."
    )
    shard: str | None = flag(
        "Run as process i of n that share a run directory, given as i/n."
    )
    controls: str | None = flag(
        "Controls: exclusion (only `probe run`), labels, or both."
    )
    device: str = flag("cpu, cuda or cuda:N; auto = a GPU if there is one.", "auto")
    cache_budget: str | None = flag(
        "Activation cache, as 4GB; half of the free memory by default."
    )
    tables: bool = flag("Print PRA, metrics and notes, too.", False)
    dry_run: bool = flag(
        "Show the jobs, training steps and memory needed; write nothing.", False
    )

    def __post_init__(self) -> None:
        """Check the values, each by itself."""
        if self.recompute not in (None, "changed"):
            raise InputError(f"--recompute expects changed, got {self.recompute!r}")
        if self.workers is not None and not 1 <= self.workers <= _MOST_WORKERS:
            raise InputError(
                f"--workers must be 1 to {_MOST_WORKERS}, got {self.workers}"
            )
        # Read here, so that a malformed value is refused at once, not when it is used.
        _ = self.ordered(()), self.cache_bytes

    def ordered(self, jobs: Sequence[_Item]) -> Sequence[_Item]:
        """Return the jobs in the order in which this process begins them.

        A shard begins with its own jobs, every n-th one, and continues with those of
        the others, from the end. Shards are processes that share a run directory
        without communicating; locks prevent two of them from running the same job. A
        shard thus helps where most jobs remain, and meets the others as late as
        possible.

        >>> JobOptions(shard="2/3").ordered("abcdefg")
        ['b', 'e', 'f', 'c', 'g', 'd', 'a']
        """
        if self.shard is None:
            return jobs
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", self.shard)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(
                f"--shard expects i/n with i from 1 to n, as 3/8, got {self.shard!r}"
            )
        number = int(match[1])
        shards = int(match[2])
        # Every n-th and not a block: slow and fast learners are shared out evenly.
        ordered = list(jobs[number - 1 :: shards])
        for other in range(number, number + shards - 1):
            ordered += reversed(jobs[other % shards :: shards])
        return ordered

    @property
    def cache_bytes(self) -> int | None:
        """Bytes for cached activations, for all workers; None = half of the free memory."""
        budget = self.cache_budget
        return None if budget is None else parse_size(budget, "--cache-budget")


@immutable
class RunOptions(JobOptions):
    """The flags of `probe run` as they were typed, each with its help; None = not given.

    The first twelve and `controls` change the study, see
    `scenarios.study.study_file.apply_flags`. Raises InputError for impossible values,
    and for flags that do not fit together.

    >>> RunOptions(executor="inline", workers=1).shard is None
    True
    """

    variant: str | None = flag("A variant of the study, such as small.")
    learners: str | None = flag("Run only these methods, such as er,si.")
    seeds: int | None = flag(
        "Number of seeds: the first of the study, and those that follow its largest."
    )
    orders: str | None = flag("Task orders: rotate, none or shuffle:N.")
    epochs: int | None = flag("Epochs of training and retraining.")
    train_limit: int | None = flag("Training examples per class.")
    test_limit: int | None = flag("Test examples per class.")
    validation: int | None = flag(
        "Test on this many held-out training examples per class instead."
    )
    dataset: str | None = flag("Other data: NAME or A.npz,B.npz.")
    epoch_multiples: str | None = flag(
        "Test after these multiples of retraining epochs: 1,2,4."
    )
    heads: str | None = flag("Heads to report: any of single,multi,all.")
    weights: tuple[str, ...] | None = flag(
        "Weights of a CLscore, NAME=w1,...,w7; repeatable."
    )
    data: Path | None = flag("Data folder; PROBE_DATA by default.")
    download: bool = flag("Download missing data.", False)
    executor: str | None = flag(
        "inline, pool or ray; pool by default for more than one worker."
    )
    ray_address: str | None = flag(
        "Address of a Ray cluster, or auto; a local cluster by default."
    )
    gpus_per_job: float | None = flag(
        "Share of a GPU for each job on Ray; 1 by default."
    )

    def __post_init__(self) -> None:
        """Check the executor, and the flags that only some executors have."""
        super().__post_init__()
        if self.executor is not None:
            check_known("executor", self.executor, EXECUTORS)
        for_ray = self.executor == "ray"
        share = self.gpus_per_job
        if self.executor == "inline" and self.workers not in (None, 1):
            raise InputError(
                f"--executor inline has 1 worker, got {self.workers}: use pool"
            )
        if for_ray and self.shard is not None:
            raise InputError(
                "Ray distributes the jobs itself: leave out --shard or --executor ray"
            )
        if not for_ray and (self.ray_address, share) != (None, None):
            raise InputError(
                "add --executor ray, or leave out --ray-address and --gpus-per-job"
            )
        if self.ray_address is not None and not re.fullmatch(
            _ADDRESS, self.ray_address
        ):
            raise InputError(
                "--ray-address expects HOST:PORT, ray://HOST:PORT or auto, "
                f"got {self.ray_address!r}"
            )
        if share is not None and not _LEAST_SHARE <= share <= 1:
            raise InputError(
                f"--gpus-per-job must be {_LEAST_SHARE} to 1 GPU, got {share}"
            )

    @property
    def remote(self) -> bool:
        """Whether jobs may run on machines whose devices differ from this machine's."""
        return self.executor == "ray" and self.ray_address is not None


@immutable
class ModelOptions(JobOptions):
    """The flags of `probe model` as they were typed, each with its help; None = not given."""

    checkpoints: str | None = flag(
        "Pattern of the files, 'ckpt/seed{seed}-task{task}.pt', also with {order}, {learner}, or "
        "{index} for tasks counted from 0; or the folder of a probe.Recorder or of --from."
    )
    from_: str | None = flag(
        "Framework that wrote the folder: mammoth, facil, pycil or pilot."
    )
    data: str | None = flag(
        "MODULE:LOAD, which returns (train, test); or 'sites/{task}.npz'."
    )
    tasks: str | None = flag(
        "Classes by task, 0-1,2-3 or 0+5,1+6, unless the data have tasks."
    )
    orders: str | None = flag(
        "Orders named by {order}: TOML of NAME = [2, 1], rotate, shuffle:N."
    )
    offline: str | None = flag(
        "Networks trained on all tasks (joint), such as 'ckpt/offline-{seed}.pt'."
    )
    train_offline: bool = flag("Train the joint networks here instead.", False)
    weights: str | None = flag(
        "Key of the weights in files with several: state_dict_ema."
    )
    network: str | None = flag(
        "MODULE:FACTORY of the network if the argument is a folder; or "
        "full=m:full,lora=m:lora."
    )
    features: str = flag("Modules to cut at, such as layer1,layer2, or auto.", "auto")
    readouts: str = flag("Readouts: any of retrain,linear,ncm,knn.", "retrain,linear")
    steps: str | None = flag(
        "Tasks after which a readout is measured, such as retrain=all."
    )
    output: str | None = flag(
        "Key, attribute or index of the logits in the output of the model."
    )
    call: str | None = flag(
        "MODULE:FUNCTION of (model, batch) or (model, batch, task)."
    )
    head: Any = flag(
        "multi: only the classes of an example's own task compete; or single."
    )
    learner: str = flag(
        "Name of the method in tables if the files do not name it.", "model"
    )
    train_limit: int | None = flag(
        "Training examples per class, of each task if data have tasks."
    )
    epochs: int | None = flag("Epochs of retraining and of joint training.")
    batch_size: int | None = flag("Batch size of both.")
    learning_rate: float | None = flag("Learning rate of both.")
    optimizer: str | None = flag("Optimizer of both: adam, adamw, nadam or sgd.")

    def __post_init__(self) -> None:
        """Check the limit of training examples."""
        super().__post_init__()
        if self.train_limit is not None and self.train_limit < 1:
            raise InputError(f"--train-limit must be 1 or more, got {self.train_limit}")

    @property
    def networks(self) -> dict[str, str]:
        """The networks by learner, from "a=m:f,b=m:g"; one without a learner is of all, by ""."""
        return dict(entry.rpartition("=")[::2] for entry in names(self.network or ""))

    @property
    def of_run(self) -> RunOptions:
        """The flags that `probe run` has as well, as an object of its own."""
        return RunOptions(**{f.name: getattr(self, f.name) for f in fields(JobOptions)})


@immutable
class FigureOptions:
    """The flags of `probe figures` as they were typed; None = not given."""

    only: str | None = flag(
        "Figures to draw, such as bias,depth; those of a run by default."
    )
    format: str | None = flag("Any of pdf,png,svg; pdf by default.")
    width: float | None = flag("Width of a figure in inches, 1 to 30.")
    font_size: float | None = flag("Font size of titles and labels in points, 4 to 30.")
    font: str | None = flag("serif, sans-serif, monospace or an installed font.")
    learners: str | None = flag("Methods in the order to draw them, such as er,si.")
    label: tuple[str, ...] | None = flag(
        "Printed name of a method, er='Replay'; repeatable."
    )
    readouts: str | None = flag("Readouts, such as retrain,linear; all by default.")
    out: Path | None = flag("Folder to write to; DIR/figures/asked by default.")


@immutable
class InitOptions:
    """The flags of `probe init`; None = not given."""

    data: str | None = flag(
        "Data; the bundled digits by default.", metavar="DATASET|FILE.npz"
    )
    network: str | None = flag(
        "A network of `probe list`; by default one for the data."
    )
    learners: str | None = flag("Methods; finetune,er,offline by default.")
    own: bool = flag("Also write mynets.py with a network and data to edit.", False)


@immutable
class MetricsOptions:
    """The flags of `probe metrics`; None = not given."""

    json: bool = flag("Print one JSON object.", False)
    test_sizes: str | None = flag(
        "Test examples of each task, 10,20,...; equal by default."
    )
    reference: Path | None = flag(
        "R of the cumulative method, for intransigence, rho, Omega."
    )
    ideal: float | None = flag(
        "Accuracy of joint training on the first task, for Omega."
    )
    costs: Path | None = flag(
        "Costs of a line per task, as costs.csv has them, for CLscore."
    )
    ce_epsilon: float = flag("The epsilon of CE.", 1.0)
    ce_form: str = flag("The form of CE: paper or poster.", "paper")
    weights: tuple[str, ...] | None = flag(
        "Weights of a CLscore, NAME=w1,...,w7; repeatable."
    )
    percent: bool = flag("Values are in percent.", False)
    from_: str | None = flag(
        "Framework that wrote the log of one run: mammoth (logs.pyd), facil "
        "(acc_tag-*.txt), pycil or pilot (.log).",
        metavar="FRAMEWORK",
    )

    def __post_init__(self) -> None:
        """Refuse flags of costs without costs."""
        of_costs = self.ce_epsilon, self.ce_form, self.weights
        if self.costs is None and of_costs != (1.0, "paper", None):
            raise InputError(
                "--ce-epsilon, --ce-form and --weights are for --costs: add it"
            )


@immutable
class LayersOptions:
    """The flags of `probe layers`."""

    input: tuple[str, ...] = flag(
        "Shape of one example, such as 3x32x32; :int for integers. Repeat it for "
        "several inputs, which are passed by name, or in order if they have none.",
        MISSING,
        metavar="[NAME=]SHAPE[:int]",
    )
    output: str | None = flag(
        "Key, attribute or index of the logits in the output of the model."
    )
    integers: bool = flag("All inputs are integers, such as tokens.", False)
    json: bool = flag("Print one JSON object.", False)


_EXAMPLES = "MODULE:OBJECT|FILE.npz"


@immutable
class DiffOptions:
    """The flags of `probe diff`; None = not given."""

    model: str = flag(
        "The function that builds the network.", MISSING, "MODULE:FACTORY"
    )
    old: str = flag(
        "Test examples, as x and y, of what it could do.", MISSING, _EXAMPLES
    )
    new: str | None = flag(
        "Test examples of what it has learned since.", metavar=_EXAMPLES
    )
    train: str | None = flag(
        "Stored training examples, for more remedies.", metavar=_EXAMPLES
    )
    score: str = flag("accuracy, loss, squared_error, or MODULE:FUNCTION.", "accuracy")
    blocks: str = flag(
        "Modules, as conv1,conv2; patterns, as 'l0=lstm.*_l0,...'; auto.", "auto"
    )
    call: str | None = flag("MODULE:FUNCTION of (model, batch).")
    output: str | None = flag(
        "Key, attribute or index of the logits in the output of the model."
    )
    weights: str | None = flag(
        "Key of the weights in files with several: state_dict_ema."
    )
    out: Path | None = flag(
        "Write the answer, tables and a page to this folder.", metavar="DIR"
    )
    json: bool = flag("Print one JSON object.", False)
    tolerate: float | None = flag(
        "Exit with 1 if more was lost: points of accuracy, or units of another score."
    )
    seed: int = flag("Seed of everything that is drawn.", 0)


def position(output: str | None) -> str | int | None:
    """Return the location of the logits in an output: a key or attribute, or an index in a tuple.

    A key that is a number cannot be given.

    >>> position("logits"), position("-1")
    ('logits', -1)
    """
    return int(output) if output and re.fullmatch(r"-?\d+", output) else output


def names(text: str) -> list[str]:
    """Return the entries of a comma-separated flag, stripped; empty entries are kept.

    >>> names("er, si")
    ['er', 'si']
    """
    return [name.strip() for name in text.split(",")]
