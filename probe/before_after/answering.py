"""The answer, made of what was measured."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from probe.answers.record import Interval
from probe.before_after.answer import Answer, BlockLine, RemedyLine
from probe.before_after.content import Content
from probe.before_after.inside import common_path
from probe.before_after.meaning import (
    ATTRIBUTE,
    RENAMED_OUTPUTS,
    STATISTICS_ONLY,
    Findings,
)
from probe.before_after.ranking import Measured
from probe.before_after.remedies import (
    ATTRIBUTES_BACK,
    HALF,
    OUTPUTS_RENAMED,
    STATISTICS_BACK,
)
from probe.before_after.setting import Blame
from probe.immutable import immutable
from probe.rewinding.parts import REST
from probe.tables.layer_text import word_of

_BEST = 3  # remedies in the answer
_FEW = 200  # examples below which intervals are wide
_REMEDY_OF = {
    STATISTICS_ONLY: STATISTICS_BACK,
    ATTRIBUTE: ATTRIBUTES_BACK,
    RENAMED_OUTPUTS: OUTPUTS_RENAMED,
}


@immutable(eq=False)
class Evidence(Findings):
    """The findings, and what the answer adds to them.

    Attributes:
        inside: What each part of the guilty block accounts for, None if it is not
            opened.
        readouts: What each block still holds, by readouts.
    """

    inside: Blame | None
    readouts: Sequence[Content]

    @property
    def answer(self) -> Answer:
        """The answer."""
        score = self.setting.tests.score
        inside = self._lines(self.inside, {}) if self.inside else ()
        return Answer(
            score=score if isinstance(score, str) else "score",
            is_accuracy=self.setting.is_accuracy,
            old=self.old,
            new=self.new,
            lost=self.lost,
            changed=self.changed,
            kind=self.kind,
            blocks=self._lines(self.blame, self._labels),
            inside=inside if len(inside) > 1 else (),
            opened=self.blame.opened,
            meaning=(*self.sentences(), *self._content()),
            next=tuple(map(self._line, self._recommended())),
            belief=tuple(self._belief()),
        )

    @property
    def _labels(self) -> dict[str, str]:
        """The label of each block: with the module of its tensors, if that has another name."""
        labels = {}
        parts = self.blame.parts
        for block, names in parts.blocks.items():
            module = f"{common_path(names)}."
            path = f"{block}."
            labels[block] = block
            if parts.facts and not (module.startswith(path) or path.startswith(module)):
                tops = dict.fromkeys(name.partition(".")[0] for name in names)
                labels[block] = f"{block} ({common_path(names) or ', '.join(tops)})"
        return labels

    def _lines(self, blame: Blame, labels: Mapping[str, str]) -> tuple[BlockLine, ...]:
        """Return a line for each block that has changed, the largest share first."""
        lines = []
        for row in blame.by_share.dropna(subset="share").itertuples():
            is_rest = blame is self.inside and row.feature == REST
            if is_rest or row.feature not in blame.two.changed:
                continue
            share = Interval(value=row.share, low=row.share_low, high=row.share_high)
            lines.append(
                BlockLine(
                    block=labels.get(row.feature, row.feature),
                    share=share,
                    harm=row.broken,
                    repair=row.restored,
                    new=row.new if self.setting.has_new else None,
                    verdict=row.verdict,
                    words=word_of(row.verdict),
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
            block = self._labels.get(content.block, content.block)
            untrained = "not known"
            if content.untrained:
                untrained = f"{100 * content.untrained.value:.1f}"
            text = f"{after:.1f} (before {before:.1f}, untrained {untrained})"
            yield f"Linear readout of {block}: old {text}."

    def _recommended(self) -> list[Measured]:
        """Return the recommended remedies, the best ranks first.

        Without new examples none can be ranked. These three are returned then, if they
        help: the remedy of the kind of change, the guilty block put back, and the
        average of both networks.
        """
        if self.setting.has_new:
            recommended = [r for r in self.measured if r.is_recommended]
            return sorted(recommended, key=lambda remedy: remedy.rank or 0)[:_BEST]
        names = [_REMEDY_OF.get(self.kind, ""), self.guilty_put_back, HALF]
        remedies = [self.remedies[n] for n in names if n in self.remedies]
        return [remedy for remedy in remedies if remedy.old_change.value > 0]

    def _line(self, remedy: Measured) -> RemedyLine:
        line = RemedyLine(
            remedy=remedy.name,
            old=remedy.old.value,
            old_change=remedy.old_change.value,
        )
        if not self.setting.has_new:
            return line
        return replace(line, new=remedy.new.value, new_change=remedy.new_change.value)

    def _belief(self) -> Iterator[str]:
        """Yield what the answer rests on, and what is in doubt."""
        sizes = [f"{len(y):,}" for y in self.setting.labels]
        examples = (
            f"{' old and '.join(sizes)} {'new' if self.setting.has_new else 'old'} "
            "examples"
        )
        yield f"this network, {examples}; another training may differ"
        two = self.blame.two
        if two.quantities.withheld:
            yield f"nothing is said of blocks: {two.quantities.withheld}"
        elif not self.blame.parts.facts and len(two.changed) > 1:
            yield "blocks are patterns: whether their units correspond was not checked"
        competition = two.quantities.values.get(("", "competition"))
        if competition is not None and abs(competition.sum()) > 0.5:
            yield "the shares add up to less than was lost: new outputs compete, too"
        if two.borrows_outputs:
            yield "on new examples, before has the outputs of after for new classes"
        if 2 ** len(two.changed) > self.setting.hybrids:
            yield "shares are of random orders of blocks, which their intervals cover"
        if min(map(len, self.setting.labels)) < _FEW:
            yield "few examples: only large effects can be shown"
        if not self.setting.has_new:
            yield (
                "without new examples remedies have no price, and are not ranked; their "
                "scores are of one half of the examples"
            )
        elif not self._recommended():
            yield "no remedy is shown to be better on old and new together"
        else:
            yield "remedies were chosen on one half of the examples, measured on the other"
        yield from self.setting.models.notes
