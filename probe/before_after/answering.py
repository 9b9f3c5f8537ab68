"""The answer, made of what was measured."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from probe.analysis.variance import Floats
from probe.before_after.answer import Answer, BlockLine, Interval, RemedyLine, Score
from probe.before_after.changes import BlockChange
from probe.before_after.content import Content
from probe.before_after.inside import common_path
from probe.before_after.meaning import (
    ATTRIBUTE,
    RENAMED_OUTPUTS,
    STATISTICS_ONLY,
    Findings,
)
from probe.before_after.ranking import Measured, interval
from probe.before_after.remedies import (
    ATTRIBUTES_BACK,
    HALF,
    OUTPUTS_RENAMED,
    STATISTICS_BACK,
    put_back_name,
)
from probe.before_after.setting import PutBack, Setting
from probe.immutable import immutable
from probe.rewinding.parts import REST, Parts

_BEST = 3  # remedies in the answer
_FEW = 200  # examples below which intervals are wide
_OPEN = "open"  # the verdict that is none
_REMEDY_OF = {
    STATISTICS_ONLY: STATISTICS_BACK,
    ATTRIBUTE: ATTRIBUTES_BACK,
    RENAMED_OUTPUTS: OUTPUTS_RENAMED,
}


@immutable(eq=False)
class Evidence:
    """The measurements of a comparison.

    Attributes:
        setting: The networks and examples.
        put_back: The scores with blocks put back.
        inside: Those with parts of the guilty block put back, None if it is not opened.
        changes: The change of each block.
        measured: The remedies.
        readouts: What readouts of blocks tell.
    """

    setting: Setting
    put_back: PutBack
    inside: PutBack | None
    changes: Sequence[BlockChange]
    measured: Sequence[Measured]
    readouts: Sequence[Content]

    @property
    def answer(self) -> Answer:
        """The answer."""
        setting = self.setting
        old = self._score(setting.is_old)
        new = self._score(~setting.is_old) if setting.has_new else None
        lost = old.change.reversed
        two = self.put_back.two
        findings = Findings(
            changes=self.changes,
            lost=lost,
            gained=new.change if new else None,
            remedies={remedy.name: remedy for remedy in self.measured},
            shares_classes=setting.shares_classes,
            others=two.before.others,
            is_lawful=bool(two.position.values),
            covers_outputs=setting.is_accuracy
            and 2 * len(setting.labels[0].unique()) > two.outputs,
            is_adapted=setting.models.is_adapted,
            is_accuracy=setting.is_accuracy,
            margin=setting.margin,
            guilty=self.put_back.guilty,
            traded=self.put_back.traded,
        )
        score = setting.tests.score
        inside = self._lines(self.inside, {}) if self.inside else ()
        return Answer(
            score=score if isinstance(score, str) else "score",
            is_accuracy=setting.is_accuracy,
            old=old,
            new=new,
            lost=lost,
            changed=findings.changed,
            kind=findings.kind,
            blocks=self._lines(self.put_back, _labels(self.put_back.parts)),
            inside=inside if len(inside) > 1 else (),
            opened=self.put_back.opened,
            meaning=(*findings.sentences(), *self._content()),
            next=self._next(findings.kind),
            belief=tuple(self._belief()),
        )

    def _score(self, rows: NDArray[np.bool_]) -> Score:
        """Return the scores of both networks on some examples."""
        before: Floats = self.put_back.two.saved[rows]
        after: Floats = self.put_back.two.put_back()[rows]
        return Score(
            before=float(before.mean()),
            after=float(after.mean()),
            change=Interval.of(interval(after - before, self.setting.is_accuracy)),
            examples=len(after),
        )

    def _lines(
        self, put_back: PutBack, labels: Mapping[str, str]
    ) -> tuple[BlockLine, ...]:
        """Return a line for each block that has changed, the largest share first."""
        lines = []
        by_share = put_back.causes.sort_values("share", ascending=False, kind="stable")
        for row in by_share.itertuples():
            block = row.feature
            is_part = put_back is self.inside and block == REST
            if (
                is_part
                or block not in put_back.two.changed
                or not math.isfinite(row.share)
            ):
                continue
            lines.append(
                BlockLine(
                    block=labels.get(block, block),
                    share=Interval(
                        value=row.share, low=row.share_low, high=row.share_high
                    ),
                    old=row.restored,
                    new=row.new if self.setting.has_new else None,
                    verdict=row.verdict,
                    words="cannot tell" if row.verdict == _OPEN else row.verdict,
                )
            )
        return tuple(lines)

    def _content(self) -> Iterator[str]:
        """Yield what a readout of the last hidden block tells of old examples, if there is any."""
        of_old = [content for content in self.readouts if content.examples == "old"]
        if of_old:
            content = of_old[-1]
            before = 100 * content.before.value
            after = 100 * content.after.value
            block = _labels(self.put_back.parts).get(content.block, content.block)
            yield (
                f"A readout of {block} tells old: {before:.1f} % before, {after:.1f} % "
                "after."
            )

    def _next(self, kind: str) -> tuple[RemedyLine, ...]:
        """Return the recommended remedies, the best ranks first.

        Without new examples none is: the remedy of the kind of change, the guilty block
        put back, and the average of both networks.
        """
        if self.setting.has_new:
            recommended = [remedy for remedy in self.measured if remedy.is_recommended]
            chosen = sorted(recommended, key=lambda remedy: remedy.rank or 0)[:_BEST]
        else:
            by_name = {remedy.name: remedy for remedy in self.measured}
            names = (
                _REMEDY_OF.get(kind, ""),
                put_back_name((self.put_back.guilty,)),
                HALF,
            )
            chosen = [by_name[name] for name in names if name in by_name]
            chosen = [remedy for remedy in chosen if remedy.old_change.value > 0]
        return tuple(map(self._line, chosen))

    def _line(self, remedy: Measured) -> RemedyLine:
        return RemedyLine(
            remedy=remedy.name,
            old=remedy.old.value,
            old_change=remedy.old_change.value,
            new=remedy.new.value if self.setting.has_new else None,
            new_change=remedy.new_change.value if self.setting.has_new else None,
        )

    def _belief(self) -> Iterator[str]:
        """Yield what the answer rests on, and what is in doubt."""
        sizes = [f"{len(y):,}" for y in self.setting.labels]
        examples = (
            f"{' old and '.join(sizes)} {'new' if self.setting.has_new else 'old'} "
            "examples"
        )
        yield f"this network, {examples}; another training may differ"
        two = self.put_back.two
        if two.position.withheld:
            yield f"nothing is said of blocks: {two.position.withheld}"
        elif not self.put_back.parts.facts and len(two.changed) > 1:
            yield "blocks are patterns: whether their units correspond was not checked"
        competition = two.position.values.get(("", "competition"))
        if competition is not None and abs(competition.sum()) > 0.5:
            yield "the shares add up to less than was lost: new outputs compete, too"
        if 2 ** len(two.changed) > self.setting.hybrids:
            yield "shares are of random orders of blocks, which their intervals cover"
        if min(map(len, self.setting.labels)) < _FEW:
            yield "few examples: only large effects can be shown"
        if not self.setting.has_new:
            yield "without new examples remedies have no price, and are not ranked"
        elif not any(remedy.is_recommended for remedy in self.measured):
            yield "no remedy is shown to be better on old and new together"
        yield from self.setting.models.notes


def _labels(parts: Parts) -> dict[str, str]:
    """Return the label of each block: with the module of its tensors, if that has another name."""
    labels = {}
    for block, names in parts.blocks.items():
        module = common_path(names)
        is_same = f"{module}.".startswith(f"{block}.") or f"{block}.".startswith(
            f"{module}."
        )
        labels[block] = block if is_same or not parts.facts else f"{block} ({module})"
    return labels
