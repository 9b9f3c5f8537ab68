"""A linear layer that gets outputs for new classes as it learns, read with all K outputs."""

from torch import Tensor, nn
from torch.nn import functional as F

from probe.errors import InputError
from probe.record.state_files import NEVER, plain_state, with_rows


def all_outputs(model: nn.Module, head: str | None, classes: int) -> dict[str, Tensor]:
    """Return a model's state, a growing head with all its outputs.

    Args:
        model: The model.
        head: The name of the growing layer, or of the module around it; None = none
            grows.
        classes: The number of classes K.

    Raises:
        InputError: The head cannot be given further outputs.
    """
    state = plain_state(model)
    if head is None:
        return state
    tensors = {name: t for name, t in state.items() if name.startswith(f"{head}.")}
    # Without a bias, an output with weights of 0 would win against negative ones.
    has_bias = any(name.endswith("bias") for name in tensors)
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    sizes = {shape[:1] for shape in shapes.values()}
    if not has_bias or len(sizes) > 1 or max(sizes) > (classes,):
        raise InputError(
            f"grows={head!r:.60} has {shapes or 'no tensors'}, "
            f"not a weight and a bias of as many rows, {classes} at most"
        )
    return state | {
        name: with_rows(tensor, classes, name) for name, tensor in tensors.items()
    }


def all_logits(logits: Tensor, classes: int, *, grows: bool) -> Tensor:
    """Return logits (B, K), with `NEVER` for outputs that a growing head does not have yet.

    Args:
        logits: The logits of the outputs so far.
        classes: The number of classes K.
        grows: Whether the model has a growing head.

    Raises:
        InputError: There are too many logits, or too few of a head that does not grow.
    """
    missing = classes - logits.shape[1] if logits.dim() == 2 else 0
    if missing < 0:
        raise InputError(
            f"the model has {logits.shape[1]} outputs for {classes} classes: "
            f"choose theirs, as by call=lambda m, x: m(x)[:, :{classes}]"
        )
    if missing > 0 and not grows:
        raise InputError(
            f"the model's output is {tuple(logits.shape)}, expected "
            f"{len(logits), classes}: give it all outputs, or name the head that "
            "grows (grows=)"
        )
    if missing > 0 and logits.min() <= NEVER:
        raise InputError(
            f"the model's output is {float(logits.min()):g}, below the {NEVER:g} "
            "of outputs that are yet to come: give it all outputs"
        )
    return F.pad(logits, (0, max(missing, 0)), value=NEVER)
