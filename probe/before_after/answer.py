"""The answer on a pair: whose change cost the old score, and what would bring it back."""

import math
from collections.abc import Iterator, Sequence

from probe.answers.record import Interval
from probe.answers.text import cut, meanings, wrapped
from probe.immutable import immutable

_NAME = 18
_LINES = 8  # blocks that are shown
_LEGEND = (
    "accounts for: what undoing it returns of old, averaged over orders of undoing",
    "harm: what old loses by its change alone; repair: what undoing it alone returns",
    "new: what that does to new; N a class: N examples of each old and new class",
    "shown: its 95 % interval is above 0 and, for accuracy, may reach a point",
)


@immutable
class Score:
    """The score of both networks on old or on new examples.

    Attributes:
        before: The score of the network before.
        after: The score of the network after.
        change: The score after minus before.
        examples: The number of examples.
    """

    before: float
    after: float
    change: Interval
    examples: int


@immutable
class BlockLine:
    """A block in the answer.

    Attributes:
        block: The name of the block.
        share: The part of what was lost that it accounts for.
        harm: What its change alone, all others put back, loses on old examples.
        repair: What putting only it back returns on old examples.
        new: What this changes on new examples, None without any.
        verdict: The verdict, see `probe.tables.schemas.CAUSE_VERDICTS`.
        words: The verdict in words.
    """

    block: str
    share: Interval
    harm: float
    repair: float
    new: float | None
    verdict: str
    words: str


@immutable
class RemedyLine:
    """A remedy in the answer, on examples that did not choose it.

    Attributes:
        remedy: The remedy in words.
        old: The score on old examples.
        old_change: That score minus the score of the network as it is.
        new: The score on new examples, None without any.
        new_change: The same difference on new examples.
    """

    remedy: str
    old: float
    old_change: float
    new: float | None = None
    new_change: float | None = None


@immutable
class Answer:
    """The answer on a pair: whose change cost the old score, and what would bring that back.

    Attributes:
        score: The name of the score.
        is_accuracy: Whether the score is an accuracy.
        old: The old examples.
        new: The new examples, None without any.
        lost: The score on old examples before minus after.
        changed: What changed, a sentence.
        kind: The kind of change, see `probe.before_after.meaning`.
        blocks: A line for each block, the largest share first.
        inside: The parts of the block that accounts for more than half.
        opened: The name of that block, empty if there is none.
        meaning: What it means, a sentence each.
        next: The best remedies of different kinds.
        belief: What the answer rests on, and what is in doubt.
    """

    score: str
    is_accuracy: bool
    old: Score
    new: Score | None
    lost: Interval
    changed: str
    kind: str
    blocks: tuple[BlockLine, ...]
    inside: tuple[BlockLine, ...] = ()
    opened: str = ""
    meaning: tuple[str, ...]
    next: tuple[RemedyLine, ...]
    belief: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        """Yield the lines of the answer, of at most 80 columns."""
        unit = " %" if self.is_accuracy else f" ({self.score})"
        for name, score in (("old", self.old), ("new", self.new)):
            if score is not None:
                ends = (
                    f"{self.number(score.before)} -> {self.number(score.after)}{unit}"
                )
                yield f"{name}  {ends}   {self.difference(score.change)}"
        yield from wrapped("changed", [self.changed])
        yield from self._table(self.blocks, "block")
        if self.inside:
            yield from self._table(self.inside, f"in {self.opened}")
        yield from wrapped("means", self.meaning)
        yield from wrapped("next", [self.remedy(line) for line in self.next])
        yield from wrapped("rests on", self.belief)
        yield from self.legend

    @property
    def legend(self) -> Iterator[str]:
        """The lines that say how to read the tables, one for each verdict in them."""
        if self.blocks:
            yield from _LEGEND
        yield from meanings({line.verdict for line in self.blocks + self.inside})

    def _table(self, blocks: Sequence[BlockLine], title: str) -> Iterator[str]:
        """Yield a line for each block, under a header."""
        if not blocks:
            return
        new = f"{'new':>8}" if self.new else ""
        names = [title, *(line.block for line in blocks)]
        width = min(_NAME, max(map(len, names)))
        yield (
            f"{cut(title, width):<{width}} "
            f"{'accounts for':<19}{'harm':>8}{'repair':>8}{new}  verdict"
        )
        for line in blocks[:_LINES]:
            text = f"{cut(line.block, width):<{width}} {self.interval(line.share):<19}"
            text += f"{self.change(line.harm, ''):>8}{self.change(line.repair):>8}"
            if line.new is not None:
                text += f"{self.change(line.new):>8}"
            yield f"{text}  {line.words}".rstrip()
        if len(blocks) > _LINES:
            yield f"and {len(blocks) - _LINES} more with smaller shares"

    @property
    def _decimals(self) -> int:
        """The decimals of scores other than accuracies: three digits of the largest."""
        largest = max(abs(self.old.before), abs(self.old.after)) or 1.0
        return max(0, 2 - math.floor(math.log10(largest)))

    def number(self, value: float, sign: str = "") -> str:
        """Return a score as text: accuracies in percent, others as they are."""
        if self.is_accuracy:
            return f"{_rounded(100 * value, 1):{sign}.1f}"
        return f"{_rounded(value, self._decimals):{sign}.{self._decimals}f}"

    def change(self, value: float, sign: str = "+") -> str:
        """Return a difference of scores as text, with its sign."""
        if not math.isfinite(value):
            return "-"
        return self.number(value, sign)

    def difference(self, change: Interval) -> str:
        """Return a change of a score as text: gained or lost."""
        if change.value > 0:
            return f"gained {self.interval(change)}"
        return f"lost {self.interval(change.reversed)}"

    def interval(self, interval: Interval) -> str:
        """Return a value and the ends of its interval as text."""
        if not math.isfinite(interval.value):
            return "-"
        value, low, high = map(
            self.number, (interval.value, interval.low, interval.high)
        )
        return f"{value} [{low}, {high}]"

    def remedy(self, line: RemedyLine) -> str:
        """Return a remedy as text, with the old and the new score before and after it."""
        text = f"{line.remedy}: old {self.step(line.old, line.old_change)}"
        if line.new is None or line.new_change is None:
            return text
        return f"{text}, new {self.step(line.new, line.new_change)}"

    def step(self, score: float, change: float) -> str:
        """Return the scores without and with a remedy, on the same examples, as text."""
        return f"{self.number(score - change)} -> {self.number(score)}"


def _rounded(value: float, decimals: int) -> float:
    """Return a rounded number; adding 0 makes a positive zero of a negative one."""
    return round(value, decimals) + 0
