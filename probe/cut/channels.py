"""The axis of a value's channels, derived from the calls that made the value.

It is never guessed from a shape: (B, 40, 100) may be 40 channels at 100 times or the
reverse.
"""

import re
from collections.abc import Sequence

from torch import nn

from probe.cut.batch_dimension import Axis, TensorFacts
from probe.cut.names import FOREIGN, Name, words
from probe.cut.trace import Step, Trace

Dims = Sequence[int | None]
"""A dimension for each dimension of a value, None for one that has none."""

# Functions, without the underscores around them and the number of dimensions: conv for
# conv2d.
_FIRST = words(
    "conv conv_transpose batch_norm instance_norm group_norm local_response_norm "
    "pixel_shuffle pixel_unshuffle"
)
_LAST = words(
    "linear bilinear embedding lstm gru rnn_tanh rnn_relu multi_head_attention_forward"
    " native_multi_head_attention transformer_encoder_layer_fwd"
)
# Channels come first in these functions, but the call that made their input is surer
# evidence.
_POOLS = words(
    "interpolate boolean_dispatch max_pool avg_pool adaptive_max_pool "
    "adaptive_avg_pool lp_pool max_unpool fractional_max_pool"
)
_NORMS = words("layer_norm rms_norm")
# These leave each dimension where it is.
_KEEPING = words(
    "relu relu6 leaky_relu rrelu prelu elu selu celu gelu silu mish glu hardtanh "
    "hardswish hardsigmoid hardshrink softshrink tanhshrink threshold softplus "
    "softsign logsigmoid sigmoid tanh softmax log_softmax softmin normalize dropout "
    "alpha_dropout feature_alpha_dropout pad cat concat add iadd radd sub isub rsub "
    "mul imul rmul div idiv truediv rtruediv itruediv pow ipow rpow neg abs exp log "
    "sqrt rsqrt square erf sin cos clamp where masked_fill lerp contiguous clone "
    "detach to type type_as float double half bfloat16 roll flip"
) | {"seen through a view", *_NORMS, *_POOLS}

# These may copy what they look at.
_RESHAPING = words("reshape flatten unflatten")


def channels_of(trace: Trace, name: Name) -> Axis | None:
    """Find the axis of a value's channels.

    The layer that made the value determines it. Calls in between may keep each
    dimension in place, as activations and sums do, or move dimensions.

    Args:
        trace: The traced model.
        name: The value.

    Returns:
        The axis; None if the calls do not determine it, or the terms of a sum disagree.
    """
    steps = trace.large.steps
    shapes = trace.large.shapes
    last = len(shapes[name].shape) - 1
    # Values, each with the dimensions of the feature that its dimensions have become.
    waiting: list[tuple[Name, Dims]] = [(name, tuple(range(last + 1)))]
    visited = set[Name]()
    channel_dims = set[int | None]()
    pooled = False
    while waiting:
        value, dims = waiting.pop()
        step = steps.get(value[0])
        # A term of fewer dimensions may lie along any of them.
        if step is None or value in visited or len(shapes[value].shape) != len(dims):
            continue
        visited.add(value)
        function = _plain_name(step)
        if axis := _axis_after(trace, step, function):
            channel_dims.add(dims[1 if axis == "first" else -1])
        else:
            waiting += _inputs_of(trace, step, value, dims)
            pooled |= function in _POOLS
    # If only poolings were met: these functions take channels first.
    if pooled and not channel_dims:
        channel_dims.add(1)
    if channel_dims == {last}:
        return "last"
    return "first" if channel_dims == {1} else None


def _plain_name(step: Step) -> str:
    """Return a call's function without the underscores around it and the number of dimensions."""
    return re.sub(r"\dd$", "", step.function.strip("_"))


def _inputs_of(
    trace: Trace,
    step: Step,
    value: Name,
    dims: Dims,
) -> list[tuple[Name, Dims]]:
    """Return the inputs of the call that made a value, with the feature's dimensions, if known."""
    shapes = trace.large.shapes
    if _plain_name(step) in _KEEPING:
        return [(parent, dims) for parent in step.parents]
    is_view = value in step.views
    parent = step.parents[0] if step.parents else FOREIGN
    is_moved = is_view or step.function in _RESHAPING
    if not is_moved or parent not in shapes:
        return []
    moved = _moved_dims(shapes[parent], shapes[value], is_view)
    of_feature = [None if dim is None else dims[dim] for dim in moved]
    return [(parent, of_feature)]


def _moved_dims(
    before: TensorFacts,
    after: TensorFacts,
    is_view: bool,
) -> Dims:
    """Return where a call puts each dimension of its input, None where that is not known.

    In a view, a dimension has the same size and stride. A reshape that copies keeps the last
    dimension, and the second after the examples, if it keeps their sizes.
    """
    moved: list[int | None] = [None] * len(before.shape)
    if is_view:
        sides = list(zip(after.shape, after.stride, strict=True))
        for dim, side in enumerate(zip(before.shape, before.stride, strict=True)):
            if sides.count(side) == 1:
                moved[dim] = sides.index(side)
        return moved
    if before.shape[:2] == after.shape[:2]:
        moved[:2] = 0, 1
    if before.shape[-1] == after.shape[-1]:
        moved[-1] = len(after.shape) - 1
    return moved


def _axis_after(trace: Trace, step: Step, function: str) -> Axis | None:
    """Return the axis of the channels in the result of a layer's call, None for other calls."""
    if function in _FIRST:
        return "first"
    # Attention may transpose its result by a call that does not tell the axis.
    attention = isinstance(trace.model.get_submodule(step.owner), nn.MultiheadAttention)
    # A norm over several dimensions, such as (C, H, W), does not tell the axis.
    names = [trace.state[call][0] for call, _ in step.parents if call in trace.state]
    over_last = function in _NORMS and any(
        trace.model.get_parameter(n).dim() == 1 for n in names
    )
    return "last" if function in _LAST or attention or over_last else None
