"""Results written to TensorBoard and Weights & Biases by their own writers.

Scalars are written by the number of tasks learned, each a mean over orders, then seeds:
`accuracy/LEARNER/FEATURE/READOUT`, the accuracy on all test examples (no readout at the
output), and after all tasks `layers/QUANTITY/LEARNER/FEATURE/READOUT`, the quantities
of each layer over all tasks. The tables are written as well.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from probe.errors import InputError
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet, as_text
from probe.tables.table_file import where

_LAYER = ["learner", "feature", "readout"]


def to_tensorboard(tables: Tables, sheets: Sequence[Sheet], where: Any) -> None:
    """Write tables, and their text, to TensorBoard.

    Args:
        tables: The tables.
        sheets: The tables as text.
        where: A SummaryWriter, or a folder for one.

    Raises:
        InputError: A folder is given and tensorboard is not installed.
    """
    writer = _writer(where) if isinstance(where, str | Path) else where
    for tag, tasks_seen, value in scalars(tables):
        writer.add_scalar(tag, value, tasks_seen)
    writer.add_text("tables", f"```\n{as_text(sheets, ())}\n```")
    writer.close() if writer is not where else writer.flush()


def to_wandb(tables: Tables, run: Any) -> None:
    """Log tables to a run of wandb, with the number of tasks learned as their own axis.

    Args:
        tables: The tables.
        run: The run.
    """
    import wandb

    axis = "tasks learned"
    for tag, tasks_seen, value in scalars(tables):
        run.define_metric(tag, step_metric=axis)
        run.log({tag: value, axis: tasks_seen})
    for name, frame in tables.items():
        if len(frame):
            cells = frame.astype(object).where(frame.notna(), None)
            run.log({f"tables/{name}": wandb.Table(dataframe=cells)})


def scalars(tables: Tables) -> Iterator[tuple[str, int, float]]:
    """Yield the tag, the step (the number of tasks learned) and the value of each scalar."""
    frame = where(tables["measurements"], metric="pra")
    seeds = frame.groupby(["tasks_seen", *_LAYER, "seed"], sort=True)["value"].mean()
    for (tasks_seen, *layer), value in (
        seeds.groupby(level=[0, 1, 2, 3]).mean().dropna().items()
    ):
        yield "/".join(filter(None, ("accuracy", *layer))), int(tasks_seen), value
    layers = where(tables["layers"], task_position=None)
    last = int(frame["tasks_seen"].max())
    for row in layers.dropna(subset="value").itertuples():
        yield (
            f"layers/{row.quantity}/{row.learner}/{row.feature}/{row.readout}",
            last,
            row.value,
        )


def _writer(folder: str | Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError(
            "tensorboard is not installed: run pip install tensorboard"
        ) from None
    return SummaryWriter(str(folder))
