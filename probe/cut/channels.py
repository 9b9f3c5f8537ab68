"""The axis of a value along which its channels lie, told by the calls that made it.

It is never guessed from a shape: (B, 40, 100) may be 40 channels at 100 times or the reverse.
"""

from typing import Literal

from torch import nn

from probe.cut.names import Name, words
from probe.cut.trace import Step, Trace

Axis = Literal["first", "last"]
"""`first`: (B, C, positions ...), as of convolutions; `last`: (B, positions ..., C), as of linear
layers. Wherever the examples lie: that is known besides, see `probe.cut.batch_dimension`."""

_FIRST = words(
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d batch_norm"
    " instance_norm group_norm local_response_norm interpolate pixel_shuffle pixel_unshuffle"
    " boolean_dispatch max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d"
    " adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d adaptive_avg_pool1d"
    " adaptive_avg_pool2d adaptive_avg_pool3d lp_pool1d lp_pool2d lp_pool3d fractional_max_pool2d"
    " fractional_max_pool3d max_unpool1d max_unpool2d max_unpool3d"
)
_LAST = words(
    "linear bilinear embedding lstm gru rnn_tanh rnn_relu multi_head_attention_forward"
    " _native_multi_head_attention _transformer_encoder_layer_fwd"
)
_NORMS = words("layer_norm rms_norm")
# These leave each dimension where it is; written without the underscores around them.
_KEEPING = words(
    "relu relu6 leaky_relu rrelu prelu elu selu celu gelu silu mish glu hardtanh hardswish"
    " hardsigmoid hardshrink softshrink tanhshrink threshold softplus softsign logsigmoid sigmoid"
    " tanh softmax log_softmax softmin normalize dropout dropout1d dropout2d dropout3d"
    " alpha_dropout feature_alpha_dropout feature_dropout pad cat concat add iadd radd sub isub"
    " rsub mul imul rmul div idiv truediv rtruediv itruediv pow ipow rpow neg abs exp log sqrt"
    " rsqrt square erf sin cos clamp where masked_fill lerp contiguous clone detach to type float"
    " double half bfloat16 type_as layer_norm rms_norm"
) | {"seen through a view"}


def channels_of(trace: Trace, name: Name) -> Axis | None:
    """Return the axis of a value's channels, None where the calls that made it do not tell.

    The layer that made it tells, also through calls that leave each dimension where it is, such as
    activations and sums; None if such a sum has terms of both kinds.
    """
    steps, metadata = trace.large.steps, trace.large.metadata
    rank = len(metadata[name].shape)
    waiting, seen, found = [name], set[Name](), set[Axis]()
    while waiting:
        value = waiting.pop()
        step = steps.get(value[0])
        # A term of fewer dimensions may lie along any of them.
        if step is None or value in seen or len(metadata[value].shape) != rank:
            continue
        seen.add(value)
        if axis := _told(trace, step):
            found.add(axis)
        elif step.function in _KEEPING or step.function.strip("_") in _KEEPING:
            waiting += step.parents
    return found.pop() if len(found) == 1 else None


def _told(trace: Trace, step: Step) -> Axis | None:
    """Return the axis of the channels of what a layer's own call gives, None for other calls."""
    function = step.function
    if function in _FIRST or function.strip("_") in _FIRST:
        return "first"
    own = trace.model.get_submodule(step.owner)
    # Attention may turn its result around by a call that says nothing.
    if function in _LAST or isinstance(own, nn.MultiheadAttention):
        return "last"
    if function in _NORMS:
        groups = [trace.state[call][0] for call, _ in step.parents if call in trace.state]
        # Over several dimensions, (C, H, W) among them, it says nothing.
        if any(trace.model.get_parameter(each).dim() == 1 for each in groups):
            return "last"
    return None
