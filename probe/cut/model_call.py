"""Calls of a model on a batch: the logits in its output, and the positions that they depend on.

Positions are those of sequences. `positions_read` finds the ones that a head reads, such
as the class token, and `position_masks` the input that tells padding from the rest.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Literal

import torch
from torch import Tensor, nn

from probe.batch import Value, kinds, tensors
from probe.errors import InputError, ModelRaised, described, lacks_memory
from probe.modules import tensors_in
from probe.seeding import python_generators, stream
from probe.training.precision import products

Output = str | int | None
"""The key, attribute or index of the logits in a model's output; None = all of it."""

Call = Callable[..., object]
"""A user-defined call of a model on a batch (B, ...), which returns its output."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelCall:
    """The call that gives the logits of a batch.

    Attributes:
        call: Function that calls the model on a batch x and returns its output; None =
            `model(x)` for a tensor, `model(*x)` for a tuple, `model(**x)` for a
            mapping.
        output: Key, attribute or index of the logits in the output; None = the output
            itself.

    >>> import torch
    >>> ModelCall(call=lambda model, x: (model(x + 1), "more"), output=0)(nn.ReLU(), torch.zeros(1))
    tensor([1.])
    """

    call: Call | None = None
    output: Output = None

    def __post_init__(self) -> None:
        if self.call is not None and not callable(self.call):
            raise InputError(
                "call= must be a function of the model and a batch x, got "
                f"{type(self.call).__name__}"
            )
        if not isinstance(self.output, str | int | None):
            raise InputError(
                "output= must be a name or a position in the output, got "
                f"{type(self.output).__name__}"
            )

    def __call__(self, model: nn.Module, x: Value) -> Tensor:
        """Return the logits (B, K) of a batch x (B, ...)."""
        if self.call is not None:
            output = self.call(model, x)
        elif isinstance(x, Mapping):
            output = model(**x)
        else:
            output = model(*tensors(x))
        return logits_of(output, self.output)


class Called(nn.Module):
    """A network called as its `ModelCall` says, which returns the logits only.

    It is trained like any network, as `model(x)`, with x one tensor or several.
    """

    def __init__(self, inner: nn.Module, call: ModelCall) -> None:
        super().__init__()
        self.inner = inner
        self.call = call

    def forward(self, x: Value) -> Tensor:
        """Return the logits (B, K) of a batch x (B, ...)."""
        return self.call(self.inner, x)


def logits_of(output: object, where: Output) -> Tensor:
    """Return the logits (B, K) from a model's return value.

    A tensor is returned as it is, even if `where` is a name or the index 0 or -1: some
    models return more than the logits in training mode only.

    Args:
        output: The model's return value.
        where: Key or index of the logits.

    Returns:
        The logits.

    Raises:
        InputError: There is no tensor; the message lists what the output holds.

    >>> import torch
    >>> logits_of({"logits": torch.ones(2), "loss": None}, "logits")
    tensor([1., 1.])
    """
    parts = _parts(output)
    is_logits = isinstance(output, Tensor) and (
        where in (0, -1) or isinstance(where, str)
    )
    if where is None or is_logits:
        logits = output
    elif isinstance(output, (tuple, list)) and isinstance(where, int):
        logits = output[where] if -len(output) <= where < len(output) else None
    else:
        # By key or field; what has neither may still have an attribute of that name.
        logits = parts.get(where, getattr(output, str(where), None))
    if isinstance(logits, Tensor):
        return logits
    choices = ", ".join(
        repr(key) for key, part in parts.items() if isinstance(part, Tensor)
    )
    remedy = "give call=lambda model, x: ..., which returns a tensor"
    if isinstance(output, Tensor):
        remedy = "leave output= out"
    elif choices:
        remedy = f"name the logits with output= one of {choices}"
    got = type(output).__name__
    if where is not None:
        got += f" and {where!r} in it is no tensor"
    raise InputError(
        f"the model returns {got}, expected one tensor of logits: {remedy}"
    )


def tensors_of(output: object) -> list[Tensor]:
    """Return the tensors, of any shape, in an output: in tuples, lists, dicts and dataclasses."""
    if dataclasses.is_dataclass(output) and not isinstance(output, (dict, tuple, type)):
        return tensors_in(_parts(output))
    return tensors_in(output)


def _parts(output: object) -> Mapping[str | int, object]:
    """Return the parts of an output by key, attribute or index."""
    if isinstance(output, dict):
        return output
    if dataclasses.is_dataclass(output):
        return {
            field.name: getattr(output, field.name)
            for field in dataclasses.fields(output)
        }
    return dict(enumerate(output)) if isinstance(output, (tuple, list)) else {}


@contextmanager
def explained(sample: Value) -> Iterator[None]:
    """Turn any error of the user's model within the block into one sentence with a remedy."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        types = {tensor.dtype for tensor in tensors(sample)}
        remedy = next(
            (text for dtype, text in _REMEDIES.items() if dtype in types), _REMEDY
        )
        if torch.float32 in types and re.search("BFloat16|Half", str(error)):
            remedy = "give networks in the inputs' type, such as network.float()"
        if isinstance(error, TypeError) and isinstance(sample, Mapping):
            remedy = (
                "if its argument is the whole mapping, give call=lambda model, x: "
                "model(x); for another x, give Examples.of(data, "
                f"columns={next(iter(sample))!r})"
            )
        if lacks_memory(error):
            remedy = (
                "end other programs, as memory ran out (which is not the model's fault)"
            )
        message = (
            f"the model raised {described(error)} on a batch x of {kinds(sample)}: "
            f"{remedy}"
        )
        raise ModelRaised(message) from error


@contextmanager
def full_precision(x: Value) -> Iterator[None]:
    """Run models in full precision within the block, whatever the caller's settings.

    The fast path of attention is off: it rounds differently, and a layer within it cannot
    be read.
    """
    device = tensors(x)[0].device.type
    with (
        torch.autocast(device, enabled=False),
        products("fp32"),
        without_fast_path(),
    ):
        yield


@contextmanager
def undisturbed(x: Value) -> Iterator[None]:
    """Run a model within the block in full precision, and restore Python's generators."""
    with full_precision(x), python_generators():
        yield


@contextmanager
def without_fast_path() -> Iterator[None]:
    """Turn off the fast path of attention in eval mode within the block.

    It rounds differently, and hands nested tensors to layers that may be in training
    mode.
    """
    mha = torch.backends.mha
    with ExitStack() as restored:
        restored.callback(mha.set_fastpath_enabled, mha.get_fastpath_enabled())
        mha.set_fastpath_enabled(False)
        yield


_REMEDIES = {
    torch.uint8: "if it expects floats, pass call=lambda model, x: model(x.float() / 255)",
    torch.float64: "if its weights are float32, pass x.float(), an array as x.astype('float32')",
    **dict.fromkeys(
        (torch.half, torch.bfloat16), "if its weights are float32, pass x.float()"
    ),
    torch.int64: "check that every index is in range, or pass x.float()",
    torch.int32: "if it expects int64, pass x.long()",
}
_REMEDY = (
    "check the shapes; if it takes arguments other than x, give call=lambda model, x: "
    "..."
)


Positions = tuple[int, ...] | Literal["last"]
"""Positions of a sequence, from 0; `last` = another one in each example."""

PositionMask = tuple[int, int, int]
"""The index of the input that tells which positions count, the index in `masks_from`, and L."""

_DRAWS = 4


def positions_read(model: nn.Module, x: Value, call: ModelCall) -> dict[int, Positions]:
    """Find the positions of sequences that the logits depend on at the end of a network.

    Examples are the class token of a vision transformer, and the last token of a
    language model. They are found in the last value (B, L, C) of each length L on which
    the logits depend.

    Args:
        model: A copy of the network, in eval mode.
        x: A few examples (B, ...).
        call: The call that gives the logits.

    Returns:
        The positions by length; lengths of which all positions are read are left out.
    """
    redraw_zeros(model)
    read: dict[int, Positions] = {}
    for gradient in _sequence_gradients(model, x, call):
        if len(gradient) != len(tensors(x)[0]) or not gradient.any():
            continue
        reached = gradient.abs().sum(2) > 0  # (B, L)
        length = reached.shape[1]
        # A later value of the same length replaces an earlier one.
        read.pop(length, None)
        if (reached == reached[:1]).all() and not reached.all():
            read[length] = tuple(reached[0].nonzero()[:, 0].tolist())
        elif (reached.sum(1) == 1).all() and _are_last(reached, x):
            read[length] = "last"
    return read


def position_masks(
    model: nn.Module, x: Value, call: ModelCall
) -> dict[int, PositionMask | None]:
    """Find the input that tells which positions of sequences count for the logits.

    A position counts if the logits have a gradient by its values. Noise is added to the
    values, as units that are not active have no gradient either.

    Args:
        model: A copy of the network, in eval mode.
        x: A few examples (B, ...), of different lengths.
        call: The call that gives the logits.

    Returns:
        The input by length; None if no input tells which positions count. Lengths are
        left out if the same positions count in all examples.
    """
    redraw_zeros(model)
    draws = stream(0, "padding")
    reached: list[Tensor] = []
    for _ in range(_DRAWS):
        gradients = _sequence_gradients(model, x, call, draws)
        nonzero = [gradient != 0 for gradient in gradients]
        pairs = zip(reached or nonzero, nonzero, strict=True)
        reached = [before | now for before, now in pairs]
    masks: dict[int, PositionMask | None] = {}
    for value in reached:
        # (B, L, C), or (B, C, L) as of convolutions.
        for counts in (value.any(2), value.any(1)):
            if (counts != counts[:1]).any():
                length = counts.shape[1]
                masks[length] = masks.get(length) or _mask_of(x, counts)
    return masks


def _mask_of(x: Value, counts: Tensor) -> PositionMask | None:
    """Return the input that tells which positions (B, L) count, None if there is none."""
    for index, tensor in enumerate(tensors(x)):
        for number, kept in enumerate(masks_from(tensor, counts.shape[1])):
            if torch.equal(kept, counts):
                return index, number, counts.shape[1]
    return None


def masks_from(tensor: Tensor, length: int) -> list[Tensor]:
    """Return the ways in which an input may tell the positions (N, L) that count.

    Args:
        tensor: The input: lengths (N,), or a mask, ids or padded values (N, L, ...).
        length: The number of positions L.
    """
    if tensor.ndim == 1:
        return [torch.arange(length, device=tensor.device) < tensor[:, None]]
    if tensor.ndim == 0 or tensor.shape[1] != length:
        return []
    nonzero = tensor.reshape(*tensor.shape[:2], -1).any(2)
    return [nonzero, ~nonzero]


def _sequence_gradients(
    model: nn.Module,
    x: Value,
    call: ModelCall,
    draws: torch.Generator | None = None,
) -> list[Tensor]:
    """Return the gradient of the logits by each module's output (B, L, C), in execution order.

    Outputs that the logits do not depend on are left out. Each module's output is
    detached from earlier ones, so that its gradient shows only what the next modules
    read.

    draws: the source of noise that is added to each output, None for no noise.
    """
    values = list[Tensor]()

    def note(module: nn.Module, inputs: object, output: object) -> object:
        """Put a new leaf of the graph in place of a module's output, if it is a sequence."""
        if (
            not isinstance(output, Tensor)
            or output.ndim != 3
            or not output.is_floating_point()
        ):
            return output
        value = output.detach()
        if draws is not None:
            noise = torch.randn(output.shape, generator=draws, device="cpu")
            value = value + noise.to(value) * (1 + value.abs().mean())
        values.append(value.requires_grad_())
        # A clone, as the next modules may write into it.
        return values[-1].clone()

    with torch.enable_grad(), undisturbed(x), ExitStack() as hooks:
        for module in model.modules():
            hooks.enter_context(module.register_forward_hook(note))
        logits = call(model.eval(), x)
        # Weighted, as after a norm the plain sum would be constant.
        weights = torch.linspace(1, 2, logits.numel(), device=logits.device).view_as(
            logits
        )
        gradients = torch.autograd.grad(
            (logits * weights).sum(), values, allow_unused=True
        )
    return [gradient for gradient in gradients if gradient is not None]


@torch.no_grad()
def redraw_zeros(model: nn.Module) -> None:
    """Draw anew those matrices of a network that are 0, as no gradient passes through them.

    An example is the head of an untrained vision transformer.
    """
    draw = stream(0, "zeros")
    for matrix in model.parameters():
        is_matrix = matrix.ndim > 1 and matrix.is_floating_point()
        if is_matrix and not matrix.any():
            matrix.copy_(torch.randn(matrix.shape, generator=draw, device="cpu") / 10)


def _are_last(reached: Tensor, x: Value) -> bool:
    """Return whether the one position reached, (B, L), is the last that a mask in x keeps."""
    masks = (tensor for tensor in tensors(x) if tensor.shape == reached.shape)
    kept = (keep for mask in masks for keep in (mask != 0, mask == 0))
    return any(torch.equal(last_kept(keep), reached.long().argmax(1)) for keep in kept)


def last_kept(mask: Tensor) -> Tensor:
    """Return the last position (B,) that each row of a mask (B, L) keeps."""
    return (mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)).argmax(1)
