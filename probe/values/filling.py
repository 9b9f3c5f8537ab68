"""From cuts to the rows that their tails are trained on: planned, then filled in one pass."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from probe.cut.split import Split, values_of
from probe.examples import Rows
from probe.values.inputs import Inputs
from probe.values.placement import CacheSettings, Need, Placed, placed
from probe.values.stored import Recomputed, Stored, fill, form_of

_LEAST, _MOST = 32, 128  # examples of a batch that a prefix is given


class Serving:
    """How the values of one model's cuts are kept and served, on one device.

    settings: None = the defaults; size: examples of a training batch. Every batch that a prefix is
    given has as many, so that what is recomputed costs what it must; but neither so few that most
    of the time goes into calls, nor so many that they take a part of the memory.
    """

    def __init__(self, settings: CacheSettings | None, size: int, device: torch.device) -> None:
        self._settings = (settings or CacheSettings()).settled(device)
        self._size = min(max(size, _LEAST), _MOST)

    def plan(
        self, cuts: Sequence[Split], sample: Tensor, sizes: tuple[int, int]
    ) -> tuple[Placed, ...]:
        """Return where each cut's values are to live.

        sample: (B, ...) inputs; sizes: how many training and test examples there are.
        """
        needs = []
        for cut in cuts:
            with FlopCounterMode(display=False) as counter:
                form = form_of(cut.prefix, Inputs(sample), self._size, self._settings.storage)
            # Behind the model's output nothing is trained.
            size = form.size * (sum(sizes) if cut.trainable else sizes[1])
            needs.append(Need(feature=cut.feature, size=size, work=counter.get_total_flops()))
        return placed(needs, self._settings)

    def rows(self, cuts: Sequence[Split], plan: Sequence[Placed], x: Tensor) -> dict[str, Rows]:
        """Return every cut's values for all inputs x (N, ...), by feature, placed as planned."""
        inputs = Inputs(x)
        places = {placed.feature: placed.place for placed in plan}
        stores: dict[str, Stored] = {}
        rows: dict[str, Rows] = {}
        for cut in cuts:
            form = form_of(cut.prefix, inputs, self._size, self._settings.storage)
            place = places[cut.feature]
            if place == "recomputed":
                rows[cut.feature] = Recomputed(form, cut.prefix, inputs, self._size)
            else:
                scratch = self._settings.scratch if place == "memory-mapped" else None
                rows[cut.feature] = store = Stored(form, inputs, scratch)
                if form.size:
                    stores[cut.feature] = store
        kept = [cut for cut in cuts if cut.feature in stores]
        fill(stores, lambda batch: values_of(kept, batch), inputs, self._size)
        return rows
