"""The flags of `probe model`: one frozen object from the command line to the work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from scenarios.options import RunOptions


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The flags of `probe model` as they were typed, each with its help; None = not given."""

    checkpoints: Annotated[
        str | None,
        "Their files, as 'ckpt/seed{seed}-task{task}.pt', also with {order} and {learner}, and "
        "{index} if tasks count from 0; or the folder of a probe.Recorder.",
    ] = None
    from_: Annotated[
        str | None,
        "Whose runs --checkpoints DIR holds: mammoth, facil, pycil or pilot.",
    ] = None
    data: Annotated[str | None, "MODULE:LOAD, a function that returns (train, test)."] = None
    tasks: Annotated[str | None, "The classes of each task: 0-1,2-3 by range, 0+5,1+6 by list."] = (
        None
    )
    orders: Annotated[
        str | None,
        "What {order} stands for: a TOML file with NAME = [2, 1, 3], or rotate or shuffle:N.",
    ] = None
    offline: Annotated[
        str | None, "Networks trained on all tasks at once, as 'ckpt/offline-{seed}.pt'."
    ] = None
    train_offline: Annotated[bool, "Train them here, by the recipe below."] = False
    network: Annotated[str | None, "MODULE:FACTORY, where the argument is a recorder's folder."] = (
        None
    )
    features: Annotated[str, "auto, or modules as layer1,layer2."] = "auto"
    readouts: Annotated[str, "Of retrain,linear,ncm,knn, and of --load."] = "retrain,linear"
    output: Annotated[str | None, "Where the logits are in what the model returns."] = None
    call: Annotated[str | None, "MODULE:FUNCTION, how the model is given a batch."] = None
    learner: Annotated[str, "What tables call the learner, without {learner}."] = "model"
    epochs: Annotated[int | None, "Of the retraining, and of the offline training."] = None
    batch_size: Annotated[int | None, "Of both."] = None
    learning_rate: Annotated[float | None, "Of both."] = None
    optimizer: Annotated[str | None, "Of both: adam, adamw, nadam or sgd."] = None
    out: Annotated[Path | None, "Run directory; runs/NAME by default."] = None
    recompute: Annotated[
        str | None, "changed: do the jobs again whose results other code has made."
    ] = None
    workers: Annotated[int | None, "Jobs side by side; all cores or GPUs by default."] = None
    shard: Annotated[str | None, "This is process i of n on one run directory, as i/n."] = None
    device: Annotated[str, "cpu, cuda or cuda:N."] = "cpu"
    cache_budget: Annotated[
        str | None, "Memory for features' values, as 4GB; half of what is free."
    ] = None
    dry_run: Annotated[
        bool, "Only print what would be done, in what memory and about how long; write nothing."
    ] = False

    @property
    def of_run(self) -> RunOptions:
        """Where and how the jobs are done; raises InputError for flags that do not fit."""
        return RunOptions(
            out=self.out,
            recompute=self.recompute,
            workers=self.workers,
            shard=self.shard,
            device=self.device,
            cache_budget=self.cache_budget,
            dry_run=self.dry_run,
        )
