"""The measurements of a comparison, and the answer that is made of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from probe.before_after.answer import Answer, BlockLine, Interval, RemedyLine, Score
from probe.before_after.changes import BlockChange, block_changes
from probe.before_after.content import Content, contents
from probe.before_after.data import Pair, Stored, halves, has_classes
from probe.before_after.inside import children_of, common_path
from probe.before_after.meaning import (
    ATTRIBUTE,
    RENAMED_OUTPUTS,
    STATISTICS_ONLY,
    Findings,
    changed_sentence,
)
from probe.before_after.networks import TwoModels
from probe.before_after.ranking import Measured, interval, measure
from probe.before_after.remedies import (
    ATTRIBUTES_BACK,
    HALF,
    OUTPUTS_RENAMED,
    STATISTICS_BACK,
    UserRemedy,
    Workshop,
    put_back_name,
)
from probe.before_after.result import Diff
from probe.progress import tracked
from probe.rewinding.causes import COLUMNS, by_block
from probe.rewinding.estimates import Position, Study
from probe.rewinding.parts import REST, Parts
from probe.rewinding.scoring import Tests
from probe.rewinding.two_networks import TwoNetworks
from probe.tables.schemas import NETWORK

if TYPE_CHECKING:
    import pandas as pd

_BEST = 3  # remedies in the answer
_MOST = 0.5  # of what was lost, beyond which a block is opened
_FEW = 200  # examples below which intervals are wide
_OPEN = "open"  # the verdict that is none
_REMEDY_OF = {
    STATISTICS_ONLY: STATISTICS_BACK,
    ATTRIBUTE: ATTRIBUTES_BACK,
    RENAMED_OUTPUTS: OUTPUTS_RENAMED,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """Two networks and their test examples.

    Attributes:
        models: The networks.
        tests: The test examples and the score.
        hybrids: The number of sets of blocks up to which all are tested.
        margin: The amount of the score that matters, 0 if every amount does.
    """

    models: TwoModels
    tests: Tests
    hybrids: int
    margin: float

    @property
    def is_accuracy(self) -> bool:
        """Whether the score is an accuracy."""
        return self.tests.score == "accuracy"

    @property
    def is_old(self) -> NDArray[np.bool_]:
        """Whether a test example is old, (N,)."""
        return np.asarray(self.tests.task_of == 0)

    @property
    def has_new(self) -> bool:
        """Whether there are new examples."""
        return len(self.tests.data) > 1

    def compared(
        self,
        parts: Parts,
        examples: Stored | None,
        user: Mapping[str, UserRemedy],
        seed: int,
    ) -> Diff:
        """Compare the networks.

        Args:
            parts: The blocks.
            examples: Stored examples, None if there are none.
            user: The user's remedies by name.
            seed: The seed of halves, draws, and trainings.
        """
        two, causes = self.rewound(parts)
        changes = block_changes(self.models.after, two.before, parts.blocks, two.changed)
        guilty = _guilty(causes)
        is_fitted = halves([len(y) for _, y in self.tests.data], seed)
        workshop = Workshop(
            before=self.models.before,
            after=self.models.after,
            tests=self.tests,
            compared=two,
            is_fitted=is_fitted,
            guilty=guilty,
            head=self._head(parts),
            stored=examples,
            seed=seed,
        )
        remedies = list(tracked(workshop.remedies(user), "remedies"))
        measured = measure(remedies, self.is_old, is_fitted, self.is_accuracy)
        readouts = self._contents(parts, examples)
        answer = self._answer(two, parts, causes, changes, measured, guilty)
        answer = replace(answer, meaning=(*answer.meaning, *_content_sentences(readouts)))
        opened = self._opened(parts, answer, causes, guilty)
        if opened:
            inside, changed = self.opened(parts, opened)
            lines = _lines(inside, changed - {REST}, self.has_new, {})
            answer = replace(answer, inside=lines, opened=opened)
        return Diff(
            answer=answer,
            causes=causes,
            block_changes=changes,
            measured=measured,
            readouts=readouts,
            open_block=lambda block: self.opened(parts, block)[0],
        )

    def rewound(self, parts: Parts) -> tuple[TwoNetworks, pd.DataFrame]:
        """Put sets of blocks back, and return their scores and a row for each block."""
        import pandas as pd

        two = TwoNetworks.compare(
            self.models.before,
            self.models.after,
            parts,
            self.tests,
            hybrids=self.hybrids,
            everywhere=True,
            progress=partial(tracked, label="blocks put back"),
        )
        study = Study(
            tasks=self.tests.task_of,
            orders=np.arange(len(self.tests.data))[None],
            is_accuracy=self.is_accuracy,
            margin=self.margin,
            trainings=1,
        )
        position = Position.stacked([two.position], (1, 1))
        table = pd.DataFrame(study.rows({1: position}), columns=COLUMNS)
        causes = by_block(table, tuple(parts.blocks), NETWORK)
        reason = two.position.withheld
        causes.attrs["withheld"] = {1: reason} if reason else {}
        as_it_is = two.put_back()
        for name in ("new", "new_low", "new_high"):
            causes[name] = np.nan
        for row, block in enumerate(causes["feature"] if self.has_new else ()):
            scores = two.put_back(block) if block in two.changed else as_it_is
            estimate = interval((scores - as_it_is)[~self.is_old], self.is_accuracy)
            ends = [estimate.value, estimate.low, estimate.high]
            causes.loc[row, ["new", "new_low", "new_high"]] = ends
        return two, causes

    def opened(self, parts: Parts, block: str) -> tuple[pd.DataFrame, set[str]]:
        """Return a row for each part of a block, one for all others, and those that have changed.

        Args:
            parts: The blocks.
            block: The name of a block, or of a part of one.
        """
        if block not in parts.blocks:
            names = [name for of_block in parts.blocks.values() for name in of_block]
            inside = tuple(n for n in names if n == block or n.startswith(f"{block}."))
            rest = tuple(n for n in names if n not in inside)
            blocks = {block: inside, REST: rest} if inside else parts.blocks
        else:
            blocks = dict(parts.blocks)
        two, causes = self.rewound(Parts(blocks=children_of(block, blocks)))
        return causes, set(two.changed)

    def _head(self, parts: Parts) -> tuple[str, ...]:
        """Return the parameters of the last block that has any."""
        parameters = dict(self.models.after.named_parameters())
        heads = ([n for n in names if n in parameters] for names in parts.blocks.values())
        return tuple([names for names in heads if names][-1])

    def _opened(self, parts: Parts, answer: Answer, causes: pd.DataFrame, guilty: str) -> str:
        """Return the block that accounts for more than half of the loss, if it has parts."""
        lost = causes.attrs["lost"][0]
        if guilty not in parts.blocks or not answer.lost.low > 0:
            return ""
        share = causes.set_index("feature")["share"][guilty]
        return guilty if share > _MOST * lost else ""

    def _contents(self, parts: Parts, examples: Stored | None) -> list[Content]:
        """Read out the features of both networks, if there are stored examples with classes."""
        names = ("old", "new")[: len(self.tests.data)]
        tests = dict(zip(names, cast("Sequence[Pair]", self.tests.data), strict=True))
        labelled = all(has_classes(y) for _, y in tests.values())
        features = [name for name, facts in parts.facts.items() if facts.value]
        if examples is None or not examples.has_classes or not labelled or not features:
            return []
        before = self.models.before
        after = self.models.after
        return list(contents(before, after, self.models.model, features, examples, tests))

    def _answer(
        self,
        two: TwoNetworks,
        parts: Parts,
        causes: pd.DataFrame,
        changes: Sequence[BlockChange],
        measured: Sequence[Measured],
        guilty: str,
    ) -> Answer:
        """Return the answer, without the parts of a block."""
        saved = two.saved
        changes_of_score = saved - two.put_back()
        lost = interval(changes_of_score[self.is_old], self.is_accuracy)
        gained = None
        if self.has_new:
            gained = interval(-changes_of_score[~self.is_old], self.is_accuracy)
        findings = Findings(
            changes=changes,
            lost=lost,
            gained=gained,
            remedies={remedy.name: remedy for remedy in measured},
            shares_classes=self._shares_classes,
            is_accuracy=self.is_accuracy,
            margin=self.margin,
            guilty=guilty,
            is_traded=_is_traded(causes, guilty),
        )
        return Answer(
            score=self.tests.score if isinstance(self.tests.score, str) else "score",
            is_accuracy=self.is_accuracy,
            old=self._score(saved, two.put_back(), self.is_old),
            new=self._score(saved, two.put_back(), ~self.is_old) if self.has_new else None,
            lost=Interval.of(lost),
            changed=changed_sentence(changes),
            kind=findings.kind,
            blocks=_lines(causes, two.changed, self.has_new, _labels(parts)),
            meaning=tuple(findings.sentences()),
            next=_best(measured, findings.kind, guilty, self.has_new),
            belief=tuple(self._belief(two, measured)),
        )

    def _score(
        self, before: NDArray[np.float64], after: NDArray[np.float64], rows: NDArray[np.bool_]
    ) -> Score:
        """Return the scores of both networks on some examples."""
        return Score(
            before=float(before[rows].mean()),
            after=float(after[rows].mean()),
            change=Interval.of(interval((after - before)[rows], self.is_accuracy)),
            examples=int(rows.sum()),
        )

    @property
    def _shares_classes(self) -> bool | None:
        """Whether old and new examples have a class in common, None if labels are no classes."""
        labels = [y for _, y in self.tests.data]
        if not self.has_new or not all(map(has_classes, labels)):
            return None
        old, new = (set(cast(Tensor, y).unique().tolist()) for y in labels)
        return bool(old & new)

    def _belief(self, two: TwoNetworks, measured: Sequence[Measured]) -> list[str]:
        """Return what the answer rests on, and what is in doubt."""
        names = ("old", "new")
        labels = [y for _, y in self.tests.data]
        sizes = [f"{len(y):,} {name}" for name, y in zip(names, labels, strict=False)]
        sentences = [f"this network, {' and '.join(sizes)} examples; another training may differ"]
        if two.position.withheld:
            sentences.append(f"nothing is said of blocks: {two.position.withheld}")
        if 2 ** len(two.changed) > self.hybrids:
            sentences.append("shares are of random orders of blocks, which their intervals cover")
        if min(len(y) for _, y in self.tests.data) < _FEW:
            sentences.append("few examples: only large effects can be shown")
        if not self.has_new:
            sentences.append("without new examples remedies have no price, and are not ranked")
        elif not any(remedy.is_recommended for remedy in measured):
            sentences.append("no remedy is shown to be better on old and new together")
        return [*sentences, *self.models.notes]


def _guilty(causes: pd.DataFrame) -> str:
    """Return the block with the largest share, empty if none is above 0."""
    shares = causes.set_index("feature")["share"].fillna(0.0)
    return str(shares.idxmax()) if len(shares) and shares.max() > 0 else ""


def _labels(parts: Parts) -> dict[str, str]:
    """Return the label of each block: with the module of its tensors, if that has another name."""
    labels = {}
    for block, names in parts.blocks.items():
        module = common_path(names)
        is_same = module == block or module.startswith(f"{block}.") or block.startswith(module)
        labels[block] = block if is_same or not parts.facts else f"{block} ({module})"
    return labels


def _content_sentences(readouts: Sequence[Content]) -> Iterator[str]:
    """Yield what a readout of the last hidden block tells of old examples, if there is any."""
    of_old = [content for content in readouts if content.examples == "old"]
    if of_old:
        content = of_old[-1]
        before = 100 * content.before.value
        after = 100 * content.after.value
        yield f"A linear readout of {content.block} tells old: {before:.1f} -> {after:.1f} %."


def _is_traded(causes: pd.DataFrame, guilty: str) -> bool:
    """Return whether putting a block back is shown to raise old and to lower new examples."""
    if not guilty:
        return False
    row = causes.set_index("feature").loc[guilty]
    return bool(row["restored_low"] > 0 and row["new_high"] < 0)


def _lines(
    causes: pd.DataFrame, changed: Collection[str], has_new: bool, labels: Mapping[str, str]
) -> tuple[BlockLine, ...]:
    """Return a line for each block that has changed, the largest share first."""
    lines = []
    for row in causes.sort_values("share", ascending=False, kind="stable").to_dict("records"):
        if row["feature"] not in changed or not math.isfinite(row["share"]):
            continue
        share = Interval(value=row["share"], low=row["share_low"], high=row["share_high"])
        verdict = str(row["verdict"])
        lines.append(
            BlockLine(
                block=labels.get(row["feature"], str(row["feature"])),
                share=share,
                old=float(row["restored"]),
                new=float(row["new"]) if has_new else None,
                verdict=verdict,
                words="cannot tell" if verdict == _OPEN else verdict,
            )
        )
    return tuple(lines)


def _best(
    measured: Sequence[Measured], kind: str, guilty: str, has_new: bool
) -> tuple[RemedyLine, ...]:
    """Return the recommended remedies, the best ranks first.

    Without new examples none is: the remedy of the kind of change, the guilty block put back, and
    the average of both networks.
    """
    if has_new:
        recommended = [remedy for remedy in measured if remedy.is_recommended]
        chosen = sorted(recommended, key=lambda remedy: remedy.rank or 0)[:_BEST]
    else:
        by_name = {remedy.name: remedy for remedy in measured}
        names = (_REMEDY_OF.get(kind, ""), put_back_name((guilty,)), HALF)
        chosen = [by_name[name] for name in names if name in by_name]
    return tuple(_line(remedy, has_new) for remedy in chosen)


def _line(remedy: Measured, has_new: bool) -> RemedyLine:
    return RemedyLine(
        remedy=remedy.name,
        old=remedy.old.value,
        old_change=remedy.old_change.value,
        new=remedy.new.value if has_new else None,
        new_change=remedy.new_change.value if has_new else None,
    )
