"""Evaluation in large batches: from a function that gives logits to confusion counts."""

from collections.abc import Callable

import torch
from torch import Tensor

from probe.counts import Counts
from probe.errors import InputError
from probe.examples import Examples

Logits = Callable[[Tensor], Tensor]


@torch.no_grad()
def evaluate(logits: Logits, examples: Examples, classes: int, batch_size: int = 1000) -> Counts:
    """Count predictions, the largest of the K = classes logits, over all examples.

    logits: maps a batch (B, ...) to (B, K); a module must be in eval mode already. Raises
    InputError if a logit is NaN, which no largest one can be told from.
    """
    predicted = []
    for x in examples.x.split(batch_size):
        scores = logits(x.clone())  # a model may write into its input
        if scores.shape != (len(x), classes):
            raise InputError(
                f"the model's output for a batch of {len(x)} has shape {tuple(scores.shape)}, "
                f"expected one logit per class: ({len(x)}, {classes})"
            )
        if scores.isnan().any():
            raise InputError(
                "the model's output is NaN: its training diverged; lower learning_rate"
            )
        predicted.append(scores.argmax(1))
    return Counts.of(examples.y.cpu().numpy(), torch.cat(predicted).cpu().numpy(), classes)
