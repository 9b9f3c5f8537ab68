"""Pairs of networks, an earlier and the last one: what of their difference may be said."""

from collections.abc import Sequence

import numpy as np

from probe.arrays import Floats
from probe.rewinding.estimates import Quantities
from probe.rewinding.hybrids import Rewinding
from probe.tables.note_text import listed

DEFICIT = 0.3
"""The largest deficit of networks that correspond, in accuracy."""

_ABOVE_CHANCE = 0.1  # of both ends, below which hybrids have no room to be worse
_CLOSE = 1e-3  # to which scores of the same weights agree, whatever the batch


def quantities_of(
    result: Rewinding,
    blocks: Sequence[str],
    saved: Floats | None,
    broken_law: str,
    doubt: str,
) -> Quantities:
    """Return the quantities of every test example, as far as they are known.

    Args:
        result: The scores of the last network with blocks put back.
        blocks: The blocks of the network.
        saved: The scores of the earlier network when it was saved, (N,), None if they
            are unknown.
        broken_law: The reason why nothing can be said, empty if there is none.
        doubt: The reason why nothing can be said of blocks, empty if there is none.
    """
    if broken_law:
        return Quantities(values={}, withheld=broken_law)
    values = result.quantities(dict.fromkeys([*blocks, *result.blocks]))
    if saved is not None:
        put_back = result.scores[result.blocks]
        competition = np.where(result.of_task, saved - put_back, 0)
        values["", "competition"] = competition
        values["", "forgotten"] = competition + values["", "lost"]
    if doubt:
        values = {name: x for name, x in values.items() if not name[0]}
    return Quantities(
        values=values,
        errors=result.sampling_error,
        unchanged=frozenset(blocks) - set(result.blocks),
        withheld=doubt,
    )


def law_failure(saved: Floats, put_back: Floats, others: Sequence[str]) -> str:
    """Return why the law of rewinding fails, empty if it holds.

    Args:
        saved: The scores of the earlier network, called as it was saved, (n,).
        put_back: The scores of the last network with all blocks put back, (n,).
        others: The names of what differs and cannot be put back.
    """
    if others:
        return f"what cannot be put back differs: {listed(others)}"
    if np.allclose(saved, put_back, rtol=_CLOSE, atol=_CLOSE, equal_nan=True):
        return ""
    return (
        "with all layers put back it is not the earlier network: something outside "
        "its modules differs, such as stored examples"
    )


def deficit_doubt(result: Rewinding, chance: float | None) -> str:
    """Return why mixtures of two networks are too bad to be told apart, empty if they are not.

    Args:
        result: The scores of the mixtures.
        chance: The accuracy of guessing, None for other scores.
    """
    if (
        chance is None
        or result.worse_end < chance + _ABOVE_CHANCE
        or not result.deficit > DEFICIT
    ):
        return ""
    return (
        f"networks with layers of both are {100 * result.deficit:.1f} points worse "
        "than either: their weights do not correspond"
    )
