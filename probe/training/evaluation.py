"""Evaluation in batches: predicted classes from logits (B, K), of which the largest counts."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from probe.batch import gather
from probe.errors import InputError
from probe.examples import Labeled
from probe.training.memory_format import channels_last, same_in_both_layouts, some
from probe.training.precision import products

Logits = Callable[..., Tensor]
"""A network, or any function of a batch: (B, ...) -> (B, K)."""


def predict_each(
    logits: Logits,
    examples: Labeled,
    classes: int,
    barred: Mapping[str, Tensor | None],
    batch_size: int | None = None,
    rows: Tensor | None = None,
    loss_of: str = "",
) -> tuple[dict[str, Tensor], Tensor]:
    """Predict the class of all N examples, for several sets of competing classes, in one pass.

    The prediction is the largest of the K logits. It is computed in fp32 without TF32, whatever the
    precision of the training: ties of bf16 logits would go to the lowest class.

    Args:
        logits: Maps a batch (B, ...) to (B, K); a module must be in eval mode.
        examples: x (N, ...) and y (N,) int64, on the model's device.
        classes: K.
        barred: By name, an (R, K) bool table of the outputs that do not compete, None where all do.
        batch_size: The batch size, None = one that is fast on the device.
        rows: (N,) int64, the row of the table for each example, None = its class.
        loss_of: The name under which the loss of each example is computed; none by default.

    Returns:
        The predictions (N,) int64 by name, and the cross-entropies (N,) float32 in nats under
        `loss_of`, infinite where the label does not compete; (0,) without it.

    Raises:
        InputError: The logits have another shape or one is NaN.

    >>> from probe.examples import Examples
    >>> data = Examples(torch.eye(2), torch.tensor([0, 0]))
    >>> predict_each(torch.nn.Identity(), data, 2, {"all": None})[0]["all"].tolist()
    [0, 1]
    """
    device = examples.y.device
    predicted: dict[str, list[Tensor]] = {name: [] for name in barred}
    losses = [torch.zeros(0, device=device)]
    # Whoever calls may be under autocast.
    with torch.no_grad(), torch.autocast(device.type, enabled=False), products("fp32"):
        any_layout = same_in_both_layouts(logits, some(examples))
        every = torch.arange(len(examples), device=device)
        row_of_example = examples.y if rows is None else rows
        for indices in every.split(batch_size or batch_size_on(device)):
            # A copy: a model may write into its input.
            x = gather(examples.x, indices)
            scores = logits(channels_last(x) if any_layout else x)
            if scores.shape != (len(indices), classes):
                raise InputError(
                    f"the model's output for a batch has shape {tuple(scores.shape)}, expected one "
                    f"logit per class: {(len(indices), classes)}"
                )
            if scores.isnan().any():
                raise InputError("the model's output is NaN: it diverged; lower learning_rate")
            for name, table in barred.items():
                competing = scores
                if table is not None:
                    # Where all that compete are -inf, one of them is to be predicted all the same.
                    finite = scores.clamp(min=torch.finfo(scores.dtype).min)
                    competing = finite.masked_fill(table[row_of_example[indices]], -torch.inf)
                predicted[name].append(competing.argmax(1))
                if name == loss_of:
                    losses.append(cross_entropy(competing, examples.y[indices], reduction="none"))
    return {name: torch.cat(parts) for name, parts in predicted.items()}, torch.cat(losses)


def barred_but(competing: Sequence[Sequence[int]], classes: int, device: torch.device) -> Tensor:
    """Mark the outputs that do not compete.

    Args:
        competing: The outputs that compete, for each row.
        classes: K.
        device: The device of the table.

    Returns:
        (R, K) bool.

    >>> barred_but([[0], [0, 1]], 2, torch.device("cpu")).tolist()
    [[False, True], [False, False]]
    """
    barred = torch.ones(len(competing), classes, dtype=torch.bool)
    for label, others in enumerate(competing):
        barred[label, list(others)] = False
    return barred.to(device)


def batch_size_on(device: torch.device) -> int:
    """Return the number of examples at a time that are evaluated fast on a device."""
    # On a CPU the activations of larger batches leave the caches and come from fresh pages of the
    # system: at 500 an example took 1.5 times as long. A GPU wants to be filled.
    return 128 if device.type == "cpu" else 2048
