"""A check that the values of an example do not depend on the other examples of its batch.

They do with batch norm in training mode, or with prompts that the whole batch chooses (as in L2P).
The accuracy is then one of an order of the test examples, and not of the network.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from probe.batch import Rows, Value, gather, identical
from probe.errors import InputError

_MIXED, _ALIKE = 16, 4  # examples of a batch of all classes, and of neighbors
_NEAR = 0.02  # of the differences between examples, above what autocast rounds
_ROUNDING = 1e-5  # of the largest value, as kernels differ with the size of a batch


@torch.no_grad()
def check_independence(
    compute: Callable[[Value], Iterable[tuple[str, Tensor]]], x: Rows | Value, labels: Tensor
) -> None:
    """Compare the values of a few examples in a mixed batch and in batches of similar examples.

    Values that differ for the same batch, as those drawn at random, are not compared.

    Args:
        compute: Function that maps a batch to named values (B, ...).
        x: The examples, (N, ...).
        labels: Their labels, (N,).

    Raises:
        InputError: The values differ; the message names them.
    """
    by_label = labels.argsort(stable=True)
    positions = torch.linspace(0, len(labels) - 1, min(_MIXED, len(labels)), device=labels.device)
    chosen = by_label[positions.long()]
    mixed, again = (dict(compute(gather(x, chosen))) for _ in range(2))
    if not all(identical(mixed[name], again[name]) for name in mixed):
        return
    parts = [dict(compute(gather(x, rows))) for rows in chosen.split(_ALIKE)]
    for name, together in mixed.items():
        apart = torch.cat([part[name] for part in parts]).double()
        difference = (together.double() - apart).abs().max()
        spread = (apart - apart.mean(0)).abs().max()
        if difference > _NEAR * spread + _ROUNDING * apart.abs().max():
            raise InputError(
                f"{name} of an example depends on the others of its batch (a prompt that the batch "
                f"chooses? batch norm in training mode?): choose a prompt for each example (L2P: "
                f"batchwise_prompt=False), or use running statistics"
            )
