"""The kind of change between two networks, from what was measured, and its meaning in words."""

from collections.abc import Sequence
from functools import cached_property

from probe.answers.record import Interval
from probe.arrays import Bools
from probe.before_after.answer import Score
from probe.before_after.changes import ATTRIBUTES, STATISTICS, BlockChange
from probe.before_after.ranking import Measured, interval
from probe.before_after.remedies import (
    ATTRIBUTES_BACK,
    BEFORE,
    OUTPUTS_RENAMED,
    PUT_BACK,
    STATISTICS_BACK,
    put_back_name,
)
from probe.before_after.setting import Blame, Setting
from probe.immutable import immutable
from probe.tables.note_text import listed

UNCHANGED = "unchanged"
NO_LOSS = "no loss"
STATISTICS_ONLY = "norm statistics"
ATTRIBUTE = "attribute"
RENAMED_OUTPUTS = "renamed outputs"
FAULT = "fault"
NEW_CLASSES = "new classes"
NEW_DOMAIN = "new domain"
OTHER = "something else"
UNCLEAR = "unclear"
"""The kinds of change."""

_SENTENCES = {
    UNCHANGED: "Both networks are the same, bit for bit.",
    NO_LOSS: "No loss on old examples is shown.",
    STATISTICS_ONLY: "Norm statistics did it: nothing else has changed.",
    RENAMED_OUTPUTS: "The outputs stand for other classes: labels or their order were mixed up.",
    NEW_DOMAIN: "A trade: the new was learned at the expense of the old.",
    NEW_CLASSES: "New classes: they were learned, and none of them is an old one.",
}
_TRADES = {NEW_DOMAIN: "A trade", NEW_CLASSES: "New classes"}

_NEARLY_ALL = 0.8  # a renaming of a few old classes to new ones returns some of it, too
_PRICE = 0.25  # the largest price on new examples, as a share of what returns
_MOST = 0.5  # of what was lost, which a single kind of change explains


@immutable(eq=False)
class Findings:
    """Measurements of two networks that decide on the kind of change.

    Attributes:
        setting: The networks and examples.
        blame: What each block accounts for.
        changes: The change of each block.
        measured: The remedies, on the examples that did not choose them.
    """

    setting: Setting
    blame: Blame
    changes: Sequence[BlockChange]
    measured: Sequence[Measured]

    @cached_property
    def old(self) -> Score:
        """The scores on old examples."""
        return self._score(self.setting.is_old)

    @cached_property
    def new(self) -> Score | None:
        """The scores on new examples, None without any."""
        if not self.setting.has_new:
            return None
        return self._score(~self.setting.is_old)

    def _score(self, rows: Bools) -> Score:
        """Return the scores of both networks on some examples."""
        before = self.blame.two.saved[rows]
        after = self.blame.two.put_back()[rows]
        change = interval(after - before, self.setting.is_accuracy)
        return Score(
            before=float(before.mean()),
            after=float(after.mean()),
            change=Interval(value=change.value, low=change.low, high=change.high),
            examples=len(after),
        )

    @property
    def lost(self) -> Interval:
        """The score on old examples before minus after."""
        return self.old.change.reversed

    @property
    def is_learned(self) -> bool:
        """Whether new examples are shown to be better."""
        return self.new is not None and self.new.change.low > 0

    @cached_property
    def remedies(self) -> dict[str, Measured]:
        """The remedies by name."""
        return {remedy.name: remedy for remedy in self.measured}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of tensors and attributes that differ."""
        return tuple(
            dict.fromkeys(kind for change in self.changes for kind in change.kinds)
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of attributes that differ."""
        return tuple(name for change in self.changes for name in change.attributes)

    def returns_most(self, name: str, share: float = _MOST) -> bool:
        """Return whether a remedy returns more than a share of what was lost, at a small price."""
        remedy = self.remedies.get(name)
        if remedy is None or remedy.new_change.low <= -_PRICE * remedy.old_change.value:
            return False
        return (
            remedy.old_change.low > 0
            and remedy.old_change.value > share * self.lost.value
        )

    @property
    def kind(self) -> str:
        """The kind of change, the first of these that holds."""
        if not self.blame.two.quantities.values:
            return OTHER
        if not self.kinds:
            return UNCHANGED
        if self.lost.low <= 0 or self.lost.high < self.setting.margin:
            return NO_LOSS
        # Without new examples, a remedy that returns the old may undo the new.
        has_price = self.new is not None
        returns_statistics = has_price and self.returns_most(STATISTICS_BACK)
        if set(self.kinds) == {STATISTICS} or returns_statistics:
            return STATISTICS_ONLY
        returns_attributes = has_price and self.returns_most(ATTRIBUTES_BACK)
        is_attribute = set(self.kinds) == {ATTRIBUTES} or returns_attributes
        if is_attribute and not self.setting.models.is_adapted:
            return ATTRIBUTE
        if self._are_outputs_renamed():
            return RENAMED_OUTPUTS
        if has_price and self._repairing:
            return FAULT
        if self.is_learned:
            return NEW_DOMAIN if self.setting.shares_classes else NEW_CLASSES
        return UNCLEAR

    def _are_outputs_renamed(self) -> bool:
        """Return whether renamed outputs return nearly all, and old classes have most of them."""
        if not self.setting.is_accuracy:
            return False
        classes = len(self.setting.labels[0].unique())
        covers_outputs = 2 * classes > self.blame.two.outputs[1]
        return covers_outputs and self.returns_most(OUTPUTS_RENAMED, _NEARLY_ALL)

    @property
    def _repairing(self) -> list[Measured]:
        """The remedies that put blocks back, return most of the old and undo nothing new.

        If the new was learned, only the guilty block can be at fault: among all sets of
        blocks, one may raise both scores by chance.
        """
        repairing = []
        for name, remedy in self.remedies.items():
            raises_both = name == self.guilty_put_back and remedy.new_change.low > 0
            is_allowed = raises_both or not self.is_learned
            is_put_back = remedy.kind in (PUT_BACK, BEFORE)
            if is_put_back and is_allowed and self.returns_most(name):
                repairing.append(remedy)
        return repairing

    @property
    def guilty_put_back(self) -> str:
        """The name of the remedy that puts the guilty block back."""
        return put_back_name((self.blame.guilty,))

    def sentences(self) -> list[str]:
        """Return what the kind means, a sentence or two of at most twenty words."""
        if self.kind == ATTRIBUTE:
            return [f"Plain attributes did it: {listed(self.attributes)}."]
        if self.kind == FAULT:
            text = f"A fault: with {self._repair}, old examples come back and new ones"
            return [f"{text} stay."]
        if self.kind == OTHER:
            return [f"Not only tensors and attributes differ: {self._other}."]
        if self.kind == STATISTICS_ONLY and set(self.kinds) != {STATISTICS}:
            return [
                "Norm statistics account for most of it; putting them back restores it."
            ]
        traded = self.blame.traded
        if self.kind in _TRADES and traded:
            text = f"{traded} learned the new at the expense of the old."
            cost = f"Putting {traded} back returns old and loses new."
            if main := self.blame.outweighing:
                cost = (
                    f"More is due to {main}, which is not shown to trade old for new."
                )
            return [f"{_TRADES[self.kind]}: {text}", cost]
        if self.kind == NO_LOSS and self.lost.low > 0:
            return ["The loss on old examples is shown to be below the margin."]
        if self.kind in _SENTENCES:
            return [_SENTENCES[self.kind]]
        if self.new is None:
            return [
                "A fault and a trade look the same without new examples: give new=."
            ]
        return ["The measurements do not tell a fault from a trade."]

    @property
    def _other(self) -> str:
        return listed(self.blame.two.before.others) or "something outside the modules"

    @property
    def _repair(self) -> str:
        if self.guilty_put_back in [remedy.name for remedy in self._repairing]:
            return self.guilty_put_back
        return min(self._repairing, key=lambda remedy: remedy.rank or 0).name

    @property
    def changed(self) -> str:
        """What changed, a sentence."""
        if self.setting.models.is_adapted:
            blocks = sum(bool(change.kinds) for change in self.changes)
            total = len(self.changes)
            return (
                f"adapters in {blocks} of {total} blocks, which the network before has "
                "off"
            )
        tensors = sum(change.tensors for change in self.changes)
        changed = sum(change.changed for change in self.changes)
        if self.blame.two.before.others:
            return f"{changed} of {tensors} tensors, and {self._other}"
        if not self.kinds:
            return f"nothing: {tensors} of {tensors} tensors are equal, bit for bit"
        text = f"{changed} of {tensors} tensors"
        if set(self.kinds) == {STATISTICS}:
            return f"{text}, all of them norm statistics: no weight has changed"
        if self.attributes:
            return f"{text}, and attributes: {listed(self.attributes)}"
        if STATISTICS in self.kinds:
            return f"{text}, norm statistics among them"
        return text
