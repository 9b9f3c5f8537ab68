"""The flags of `probe model`: one frozen object from the command line to the work."""

from dataclasses import dataclass, fields
from typing import Annotated

from scenarios.options import JobOptions, RunOptions


@dataclass(frozen=True, kw_only=True)
class ModelOptions(JobOptions):
    """The flags of `probe model` as they were typed, each with its help; None = not given."""

    checkpoints: Annotated[
        str | None,
        "Files by pattern, 'ckpt/seed{seed}-task{task}.pt', also with {order}, {learner}, or "
        "{index} for tasks counted from 0; or the folder of a probe.Recorder, or of --from.",
    ] = None
    from_: Annotated[
        str | None, "Framework that wrote the folder: mammoth, facil, pycil or pilot."
    ] = None
    data: Annotated[str | None, "MODULE:LOAD, a function that returns (train, test)."] = None
    tasks: Annotated[str | None, "Classes of each task, as ranges 0-1,2-3 or as lists 0+5,1+6."] = (
        None
    )
    orders: Annotated[
        str | None,
        "Task orders that {order} names: a TOML file with NAME = [2, 1, 3], rotate or shuffle:N.",
    ] = None
    offline: Annotated[
        str | None, "Networks trained on all tasks jointly, such as 'ckpt/offline-{seed}.pt'."
    ] = None
    train_offline: Annotated[bool, "Train the offline networks here instead."] = False
    network: Annotated[str | None, "MODULE:FACTORY of the network if the argument is a folder."] = (
        None
    )
    features: Annotated[str, "Modules to cut at, such as layer1,layer2, or auto."] = "auto"
    readouts: Annotated[str, "Readouts: any of retrain,linear,ncm,knn."] = "retrain,linear"
    output: Annotated[
        str | None, "Key, attribute or index of the logits in the output of the model."
    ] = None
    call: Annotated[
        str | None, "MODULE:FUNCTION that calls the model on a batch, as function(model, batch)."
    ] = None
    learner: Annotated[str, "Name of the learner in tables if files do not name it."] = "model"
    epochs: Annotated[int | None, "Epochs of retraining and of offline training."] = None
    batch_size: Annotated[int | None, "Batch size of both."] = None
    learning_rate: Annotated[float | None, "Learning rate of both."] = None
    optimizer: Annotated[str | None, "Optimizer of both: adam, adamw, nadam or sgd."] = None

    @property
    def of_run(self) -> RunOptions:
        """The flags that `probe run` has as well."""
        return RunOptions(**{each.name: getattr(self, each.name) for each in fields(JobOptions)})
