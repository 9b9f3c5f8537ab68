"""Verdicts on the change of a block, such as `costs`, from three intervals together.

The share is what the change of the block accounts for of what was lost. It is one
number for two facts, its two ends: what the change breaks by itself in the earlier
network, and what the last network regains when only this block is put back. Both
decide, each by its interval. A quantity that is not shown to be small is never taken as
0.
"""

from probe.immutable import immutable


@immutable
class Shown:
    """The interval of a quantity, with the margin beyond which it counts.

    Attributes:
        low: Lower end of the interval, in units of the score.
        high: Upper end of the interval.
        margin: The least that matters, 0 if every amount does.
    """

    low: float
    high: float
    margin: float

    @property
    def is_above(self) -> bool:
        """Whether the quantity is shown to be above 0, and may reach the margin."""
        return self.low > 0 and self.high >= self.margin

    @property
    def is_below(self) -> bool:
        """Whether the quantity is shown to be below 0, and may reach minus the margin."""
        return self.high < 0 and self.low <= -self.margin

    @property
    def is_small(self) -> bool:
        """Whether the quantity is shown to lie within the margin; False without a margin."""
        return self.margin > 0 and -self.margin <= self.low and self.high <= self.margin

    @property
    def is_no_harm(self) -> bool:
        """Whether it is shown to be below the margin or, without a margin, not above 0."""
        return self.high < self.margin or self.high <= 0

    @property
    def is_no_help(self) -> bool:
        """Whether it is shown to be above minus the margin or, without a margin, not below 0."""
        return self.low > -self.margin or self.low >= 0


def verdict(broken: Shown, restored: Shown, share: Shown) -> str:
    """Decide what the change of a block does, see `probe.tables.schemas.CAUSE_VERDICTS`.

    It is the first of these that holds:

    - `none`: both ends and the share lie within the margin
    - `together`: both ends do, and the share is shown to be beyond 0
    - `costs`: all three are above 0
    - `helps`: all three are below 0
    - `depends`: the ends have opposite signs, or the share is not on their side
    - `repairs`: restored is above 0, broken below the margin
    - `breaks`: broken is above 0, restored below the margin
    - `harms`: an end is above 0, and none below
    - `open`: none of these holds

    v is the score with a set of blocks put back, as in `probe.rewinding.hybrids`.

    Args:
        broken: What the change breaks by itself, v(all) - v(all but the block).
        restored: What putting back only this block returns, v({block}) - v(none).
        share: The block's Shapley value.

    Returns:
        The verdict.

    >>> above, nothing = Shown(low=0.1, high=0.2, margin=0.01), Shown(low=0, high=0, margin=0.01)
    >>> verdict(above, above, above), verdict(nothing, above, above), verdict(above, nothing, above)
    ('costs', 'repairs', 'breaks')
    >>> verdict(nothing, nothing, nothing), verdict(nothing, nothing, above)
    ('none', 'together')
    """
    ends = (broken, restored)
    if all(end.is_small for end in ends):
        if share.is_small:
            return "none"
        return "together" if share.is_above or share.is_below else "open"
    if all(end.is_above for end in ends) and share.is_above:
        return "costs"
    if all(end.is_below for end in ends) and share.is_below:
        return "helps"
    if _depends(broken, restored, share):
        return "depends"
    if restored.is_above and broken.is_no_harm:
        return "repairs"
    if broken.is_above and restored.is_no_harm:
        return "breaks"
    if any(end.is_above for end in ends):
        return "harms"
    return "open"


def _depends(broken: Shown, restored: Shown, share: Shown) -> bool:
    """Return whether no single number describes the change: the ends or the share disagree."""
    n_above = broken.is_above + restored.is_above
    n_below = broken.is_below + restored.is_below
    if n_above and n_below:
        return True
    against_harm = share.is_below or (n_above == 2 and share.is_no_harm)
    against_help = share.is_above or (n_below == 2 and share.is_no_help)
    return (n_above > 0 and against_harm) or (n_below > 0 and against_help)
