"""The result of a comparison: the answer, its tables, and what can be asked further."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from probe.analysis.intervals import Estimate
from probe.answers.plain import plain
from probe.arguments import checked
from probe.before_after.answer import Answer
from probe.before_after.changes import BlockChange
from probe.before_after.content import Content
from probe.before_after.ranking import Measured
from probe.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Diff:
    """Comparison of a network before and one after; `print` shows the answer.

    >>> import probe, torch
    >>> before = torch.nn.Linear(2, 2)
    >>> with torch.no_grad():
    ...     _ = before.weight.copy_(torch.eye(2)), before.bias.zero_()
    >>> after = torch.nn.Linear(2, 2)
    >>> with torch.no_grad():
    ...     _ = after.weight.copy_(-torch.eye(2)), after.bias.zero_()
    >>> result = probe.diff(before, after, (torch.eye(2).repeat(20, 1), torch.arange(40) % 2))
    >>> result.answer.lost.value, result.causes["feature"].tolist()
    (1.0, ['output'])

    Attributes:
        answer: The answer, a record.
        causes: A row for each block, with the columns of `probe.causes`, and what
            putting only it back changes on new examples: `new`, `new_low` and
            `new_high`, NaN without any.
    """

    answer: Answer
    causes: "pd.DataFrame"
    block_changes: Sequence[BlockChange]
    measured: Sequence[Measured]
    readouts: Sequence[Content]
    of_examples: Sequence[Mapping[str, Any]]
    open_block: "Callable[[str], pd.DataFrame]"

    def __str__(self) -> str:
        return str(self.answer)

    __repr__ = __str__

    @property
    def changes(self) -> "pd.DataFrame":
        """What changed: `block`, its `tensors`, how many `changed`, their `kinds`, and how far.

        `relative` is the norm of the change over the norm before, of all tensors that
        differ.
        """
        columns = ["block", "tensors", "changed", "kinds", "relative"]
        return _table(self.block_changes, columns)

    @property
    def remedies(self) -> "pd.DataFrame":
        """A row for each remedy, measured on the half of the examples that did not rank them.

        `old` and `new` are scores, `old_change` and `new_change` their differences from
        the network as it is, each with the ends of its interval (`_low`, `_high`).
        `rank` is by the mean of old and new on the other half. `front`: no other remedy
        is better on one and as good on the other.
        """
        columns = [
            "name",
            "kind",
            *_with_ends("old", "old_change", "new", "new_change"),
            "front",
            "rank",
        ]
        table = _table(self.measured, columns).rename(columns={"name": "remedy"})
        return table.astype({"rank": "Int64"})

    @property
    def content(self) -> "pd.DataFrame":
        """The accuracy of a linear readout of each block, for three networks; empty without train.

        `untrained` is the network after with fresh weights, NaN if no rule makes them.
        """
        columns = [
            "block",
            "examples",
            *_with_ends("before", "after", "change", "untrained"),
        ]
        return _table(self.readouts, columns)

    @property
    def examples(self) -> "pd.DataFrame":
        """A row for each block and `example`, its position in `old`; none if causes are withheld.

        Of the example's score, what was `lost`; what of that is `attributed` to the
        block's change; what putting only the block back returns (`restored`), and what
        only its change breaks (`broken`). Their means are those of `causes`.
        """
        import pandas as pd

        columns = ["feature", "example", "lost", "attributed", "restored", "broken"]
        frames = [pd.DataFrame(block) for block in self.of_examples]
        return pd.concat(frames or [pd.DataFrame(columns=columns)], ignore_index=True)

    @checked
    def inside(self, block: str) -> "pd.DataFrame":
        """Open a block: the same table over its modules, or over its tensors if it is one module.

        The other blocks are one, `rest`. Shares add up to what was lost.

        Args:
            block: The name of the block, or of a part of a block that was opened.

        Raises:
            InputError: There is no such block, or the result is a copy.
        """
        return self.open_block(block)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled or copied: all but the networks, which `inside` needs."""
        return {**vars(self), "open_block": _without_networks}

    def to_dict(self) -> dict[str, Any]:
        """Return the answer and its tables as plain values, which JSON can hold; NaN is None.

        `examples`, by far the longest table, is left out.
        """
        content: dict[str, Any] = {"answer": plain(asdict(self.answer))}
        for name in ("causes", "changes", "remedies", "content"):
            table = getattr(self, name).astype(object)
            content[name] = plain(table.to_dict("records"))
        return content

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw new against old, for both networks and all remedies.

        Args:
            ax: The axes; None = new ones.
        """
        from figures.remedies import draw_remedies, score_unit

        answer = self.answer
        unit = score_unit(answer.score)
        return draw_remedies(
            self.remedies, ax, unit=unit, is_accuracy=answer.is_accuracy
        )

    @checked
    def report(self, path: str | Path) -> None:
        """Write one HTML page with the answer, the picture and the tables.

        Args:
            path: The file.

        Raises:
            NotWritten: The file cannot be written.
        """
        from figures.report.pair import pair_report

        pair_report(self, path)


def _with_ends(*names: str) -> list[str]:
    """Return the columns of estimates, each followed by the ends of its interval."""
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def _table(records: Sequence[Any], columns: list[str]) -> "pd.DataFrame":
    """Return a row for each record; an estimate is a value and the ends of its interval."""
    import pandas as pd

    rows = []
    for record in records:
        row = dict(vars(record))
        for name, value in vars(record).items():
            if isinstance(value, Estimate):
                row[name] = value.value
                row[f"{name}_low"] = value.low
                row[f"{name}_high"] = value.high
            elif isinstance(value, tuple):
                row[name] = ", ".join(value)
        rows.append(row)
    return pd.DataFrame(rows, columns=columns)


def _without_networks(_: str) -> NoReturn:
    raise InputError(
        "a copy of a result has no networks: compare them again to open a block"
    )
