"""The kind of change between two networks, from what was measured, and its meaning in words."""

from collections.abc import Mapping, Sequence

from probe.before_after.answer import Interval
from probe.before_after.changes import ATTRIBUTES, STATISTICS, BlockChange
from probe.before_after.ranking import Measured
from probe.before_after.remedies import (
    ATTRIBUTES_BACK,
    BEFORE,
    OUTPUTS_RENAMED,
    PUT_BACK,
    STATISTICS_BACK,
    put_back_name,
)
from probe.immutable import immutable
from probe.notes import listed

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
    NEW_CLASSES: "New classes: they were learned, and none of them is an old one.",
}

_NEARLY_ALL = 0.8  # a renaming of a few old classes to new ones returns some of it, too
_PRICE = 0.25  # the largest price on new examples, as a share of what returns
_MOST = 0.5  # of what was lost, which a single kind of change explains


@immutable
class Findings:
    """Measurements of two networks that decide on the kind of change.

    Attributes:
        changes: The change of each block.
        lost: The score on old examples before minus after.
        gained: The score on new examples after minus before, None without new examples.
        remedies: The remedies, on the examples that did not choose them.
        shares_classes: Whether old and new examples have a class in common.
        others: The names of what differs and cannot be put back.
        is_lawful: Whether the network after, with all put back, is the network before.
        covers_outputs: Whether old examples have most of the classes that outputs stand
            for.
        is_adapted: Whether what differs is that adapters are on.
        is_accuracy: Whether the score is an accuracy.
        margin: The loss that matters.
        guilty: The block with the largest share, empty if there is none.
        traded: The block that, put back, is shown to raise old and to lower new
            examples.
    """

    changes: Sequence[BlockChange]
    lost: Interval
    gained: Interval | None
    remedies: Mapping[str, Measured]
    shares_classes: bool
    others: Sequence[str]
    is_lawful: bool
    covers_outputs: bool
    is_adapted: bool
    is_accuracy: bool
    margin: float
    guilty: str
    traded: str

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
        """Return whether a remedy returns a share of what was lost, at a small price."""
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
        if not self.is_lawful:
            return OTHER
        if not self.kinds:
            return UNCHANGED
        if self.lost.low <= 0 or self.lost.high < self.margin:
            return NO_LOSS
        # Without new examples what returns the old may be a trade.
        has_price = self.gained is not None
        returns_statistics = has_price and self.returns_most(STATISTICS_BACK)
        if set(self.kinds) == {STATISTICS} or returns_statistics:
            return STATISTICS_ONLY
        returns_attributes = has_price and self.returns_most(ATTRIBUTES_BACK)
        is_attribute = set(self.kinds) == {ATTRIBUTES} or returns_attributes
        if is_attribute and not self.is_adapted:
            return ATTRIBUTE
        is_renamed = self.is_accuracy and self.covers_outputs
        if is_renamed and self.returns_most(OUTPUTS_RENAMED, _NEARLY_ALL):
            return RENAMED_OUTPUTS
        if self.gained is None:
            return UNCLEAR
        if self._repairing:
            return FAULT
        if self.gained.low > 0:
            return NEW_DOMAIN if self.shares_classes else NEW_CLASSES
        return UNCLEAR

    @property
    def _repairing(self) -> list[Measured]:
        """The remedies that put back what returns most of the old, and nothing new is undone.

        Where the new was learned, only the guilty block can be at fault: among all sets
        of blocks one may raise both by chance.
        """
        of_guilty = put_back_name((self.guilty,))
        is_learned = self.gained is not None and self.gained.low > 0
        return [
            remedy
            for name, remedy in self.remedies.items()
            if remedy.kind in (PUT_BACK, BEFORE)
            and self.returns_most(name)
            and (not is_learned or (name == of_guilty and remedy.new_change.low > 0))
        ]

    def sentences(self) -> list[str]:
        """Return what the kind means, a sentence or two of at most twenty words."""
        if self.kind == ATTRIBUTE:
            return [f"Plain attributes did it: {listed(self.attributes)}."]
        if self.kind == FAULT:
            return [
                (
                    f"A fault: with {self._repair}, old examples come back and new "
                    "ones stay."
                )
            ]
        if self.kind == OTHER:
            return [f"Not only tensors and attributes differ: {self._other}."]
        if self.kind == STATISTICS_ONLY and set(self.kinds) != {STATISTICS}:
            return ["Norm statistics did most of it: putting them back returns it."]
        if self.kind == NEW_DOMAIN and self.traded:
            return [
                f"A trade: {self.traded} learned the new at the expense of the old.",
                "Putting it back returns old and costs new.",
            ]
        if self.kind == NEW_DOMAIN:
            return ["A trade: the new was learned at the expense of the old."]
        if self.kind in _SENTENCES:
            return [_SENTENCES[self.kind]]
        if self.gained is None:
            return [
                "A fault and a trade look the same without new examples: give new=."
            ]
        return ["The measurements do not tell a fault from a trade."]

    @property
    def _other(self) -> str:
        return listed(self.others) or "something outside the modules"

    @property
    def _repair(self) -> str:
        names = [remedy.name for remedy in self._repairing]
        of_guilty = put_back_name((self.guilty,))
        if of_guilty in names:
            return of_guilty
        return min(self._repairing, key=lambda remedy: remedy.rank or 0).name

    @property
    def changed(self) -> str:
        """What changed, a sentence."""
        if self.is_adapted:
            blocks = sum(bool(change.kinds) for change in self.changes)
            total = len(self.changes)
            return (
                f"adapters in {blocks} of {total} blocks, which the network before has "
                "off"
            )
        tensors = sum(change.tensors for change in self.changes)
        changed = sum(change.changed for change in self.changes)
        if self.others:
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
