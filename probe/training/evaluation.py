"""Evaluation in batches: from a function that gives logits to predicted classes.

Logits are (B, K) scores of K classes for a batch of B examples; the largest is the prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from probe.batch import gather
from probe.errors import InputError
from probe.examples import Labeled
from probe.training.memory_format import channels_last, same_in_both_layouts, some

Logits = Callable[..., Tensor]
"""A network, or any function of a batch: (B, ...) -> (B, K)."""


def predict_each(
    logits: Logits,
    examples: Labeled,
    classes: int,
    barred: Mapping[str, Tensor | None],
    batch_size: int | None = None,
) -> dict[str, Tensor]:
    """Predict the class of all N examples, for several sets of classes that compete, in one pass.

    The prediction is the largest of the K = classes logits. Always in fp32, whatever the precision
    of the training: bf16 logits have ties, all of which would go to the lowest class.

    - logits: maps a batch (B, ...) to (B, K); a module must be in eval mode already;
    - examples: x (N, ...) and y (N,) int64, on the model's device;
    - barred: by name, a (K, K) bool table whose row y says which outputs do not compete for an
      example of class y, or None where all do;
    - batch_size: what is fast on the device, unless given.

    Returns the predictions (N,) int64 by those names. Raises InputError if the logits have another
    shape or one is NaN, which no largest one can be told from.

    >>> from probe.examples import Examples
    >>> data = Examples(torch.eye(2), torch.tensor([0, 0]))
    >>> predict_each(torch.nn.Identity(), data, 2, {"all": None})["all"].tolist()
    [0, 1]
    """
    device = examples.y.device
    predicted: dict[str, list[Tensor]] = {name: [] for name in barred}
    # Whoever calls may be under autocast.
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        any_layout = same_in_both_layouts(logits, some(examples))
        every = torch.arange(len(examples), device=device)
        for indices in every.split(batch_size or batch_size_on(device)):
            # A copy: a model may write into its input.
            x = gather(examples.x, indices)
            scores = logits(channels_last(x) if any_layout else x)
            _check(scores, (len(indices), classes))
            for name, table in barred.items():
                left = scores if table is None else _without(scores, table, examples.y[indices])
                predicted[name].append(left.argmax(1))
    return {name: torch.cat(parts) for name, parts in predicted.items()}


def _without(scores: Tensor, barred: Tensor, y: Tensor) -> Tensor:
    """Return scores (B, K) with -inf for the outputs that do not compete, by labels y (B,)."""
    # Where all that compete are -inf, one of them is to be predicted all the same.
    lowest = torch.finfo(scores.dtype).min
    return scores.clamp(min=lowest).masked_fill(barred[y], -torch.inf)


def batch_size_on(device: torch.device) -> int:
    """Return how many examples at a time are evaluated fast on that device."""
    # On a CPU the activations of larger batches leave the caches and come from fresh pages of the
    # system: at 500 an example took 1.5 times as long. A GPU wants to be filled.
    return 128 if device.type == "cpu" else 2048


def _check(scores: Tensor, expected: tuple[int, int]) -> None:
    if scores.shape != expected:
        raise InputError(
            f"the model's output for a batch of {expected[0]} has shape {tuple(scores.shape)}, "
            f"expected one logit per class: {expected}"
        )
    if scores.isnan().any():
        raise InputError("the model's output is NaN: its training diverged; lower learning_rate")
