"""Networks of which only some outputs are read: those of the tasks' classes."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from probe.batch import Value
from probe.errors import InputError


class SelectedOutputs(nn.Module):
    """A network (B, ...) -> (B, O), read only at K chosen outputs: (B, ...) -> (B, K).

    The other outputs neither compete in a training loss nor can they be predicted. `outputs` has
    the chosen ones, (K,) int64 on the network's device.
    """

    def __init__(self, network: nn.Module, outputs: Tensor) -> None:
        super().__init__()
        self.network, self._outputs = network, outputs

    def forward(self, value: Value) -> Tensor:
        """Return the chosen logits (B, K)."""
        logits: Tensor = self.network(value)
        return logits.index_select(1, self._outputs)


def outputs_of(classes: int, shape: Sequence[int], chosen: Sequence[int] | None) -> Tensor | None:
    """Return the outputs that stand for the classes 0..K-1.

    Args:
        classes: K.
        shape: The shape of the logits, (B, O).
        chosen: The outputs that the user chose, None if O is K.

    Returns:
        (K,) int64, None if these are all outputs.

    Raises:
        InputError: O is not K, or outputs do not exist, are too few, or are named twice.

    >>> outputs_of(2, (8, 10), [3, 7])
    tensor([3, 7])
    """
    if len(shape) != 2:
        raise InputError(
            f"the model's output has shape {('B', *shape[1:])}, expected (B, {classes})"
        )
    outputs = list(range(shape[1]) if chosen is None else chosen)
    if len(outputs) != classes or len(set(outputs)) != classes:
        raise InputError(
            f"expected {classes} different outputs, one for each class of the tasks, got "
            f"{len(set(outputs))}: list the outputs of these classes in classes="
        )
    if outside := [output for output in outputs if not 0 <= output < shape[1]]:
        raise InputError(f"classes= names outputs {outside}, but the model has only {shape[1]}")
    return None if chosen is None else torch.tensor(outputs)
