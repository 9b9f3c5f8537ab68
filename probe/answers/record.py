"""The answer on one method as data; all renderings are made of it."""

from operator import itemgetter

from probe.analysis.statements import MARGIN
from probe.immutable import immutable
from probe.rewinding.verdicts import Shown

LITTLE_ROOM = 0.02
"""The room in accuracy below which a layer can show little."""

_MAIN = 3  # layers that a headline names


@immutable
class Interval:
    """A value with the ends of its 95 % interval.

    Attributes:
        value: The value.
        low: The lower end.
        high: The upper end.
    """

    value: float
    low: float
    high: float

    @property
    def reversed(self) -> "Interval":
        """The interval of the value with the other sign."""
        return Interval(value=-self.value, low=-self.high, high=-self.low)

    @property
    def shown(self) -> str:
        """Whether an accuracy is shown to be above 0: yes, <0, no (below a point), or ?."""
        shown = Shown(low=self.low, high=self.high, margin=MARGIN)
        if shown.is_above:
            return "yes"
        if shown.is_below:
            return "<0"
        return "no" if shown.is_no_harm else "?"


@immutable
class LayerLine:
    """A layer in the answer; all numbers are fractions of accuracy, None if not measured.

    Attributes:
        layer: The name of the layer.
        cost: The part of what was lost that its change accounts for.
        harm: The part that its change loses by itself: all other layers are put back.
        repair: The part that comes back if only this layer is put back.
        verdict: The verdict on its change, see `probe.tables.schemas.CAUSE_VERDICTS`;
            empty if causes were not measured.
        held: The accuracy of the readout after all tasks.
        untrained: The same accuracy for an untrained network.
        joint: The same accuracy for a network that learned all tasks at once.
        below_untrained: Whether less is held than without any training.
        never_learned: The accuracy that was missing right after each task; None also
            where it is no part of the room between untrained and joint.
        forgotten: The accuracy lost since, over the earlier tasks.
    """

    layer: str
    cost: Interval | None = None
    harm: Interval | None = None
    repair: Interval | None = None
    verdict: str = ""
    held: Interval | None = None
    untrained: float | None = None
    joint: float | None = None
    below_untrained: bool = False
    never_learned: Interval | None = None
    forgotten: Interval | None = None

    @property
    def room(self) -> float | None:
        """The accuracy that training on all tasks at once adds."""
        if self.untrained is None or self.joint is None:
            return None
        return self.joint - self.untrained

    @property
    def has_little_room(self) -> bool:
        """Whether training on all tasks at once adds next to nothing."""
        return self.room is not None and self.room < LITTLE_ROOM

    @property
    def position(self) -> float | None:
        """The position of the accuracy held, between untrained, 0, and joint, 1.

        None where it is below untrained, or there is too little room.
        """
        room = self.room
        if room is None or self.held is None or self.untrained is None:
            return None
        if self.has_little_room or self.below_untrained:
            return None
        return min(max((self.held.value - self.untrained) / room, 0.0), 1.0)


@immutable
class Answer:
    """The answer on one method: what was forgotten, by whose change, and what is left.

    Attributes:
        method: The name of the method.
        readout: The readout that says what is still there.
        tasks: The earlier tasks, as "tasks 1 to 4".
        learned: The accuracy on them right after each was learned.
        forgotten: The part of it that was lost.
        layers: A line for each layer, by depth; the last is the output.
        belief: What the answer rests on, and what is in doubt, a sentence each.
        next: The command, or the call of Python, that goes further; it can be pasted.
    """

    method: str
    readout: str
    tasks: str
    learned: float | None
    forgotten: Interval | None
    layers: tuple[LayerLine, ...]
    belief: tuple[str, ...]
    next: str

    @property
    def purpose(self) -> str:
        """The purpose of the next step, in a few words."""
        if "--seeds" in self.next:
            return "more seeds narrow the intervals"
        if not self.tasks:
            return "compare with a network before"
        if "diff" in self.next:
            return "measure what brings it back"
        return "measure what layers account for"

    @property
    def has_causes(self) -> bool:
        """Whether it was measured what the changes of layers account for."""
        return any(line.cost for line in self.layers)

    @property
    def main_layers(self) -> list[LayerLine]:
        """The layers whose changes account for the most, the largest cost first.

        They are at most three that do something, and none if it is not shown that
        anything was forgotten.
        """
        if self.forgotten is None or not self.forgotten.low > 0:
            return []
        costs = [
            (line.cost.value, line)
            for line in self.layers
            if line.cost and line.cost.value > 0 and line.verdict != "none"
        ]
        largest = sorted(costs, key=itemgetter(0), reverse=True)
        return [line for _, line in largest[:_MAIN]]
