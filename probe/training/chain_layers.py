"""Links of a chain: layers whose forward and backward passes are written out, into reused memory.

A link is made for inputs of a fixed shape. Its next pass overwrites the results of the
last. Images (B, C, H, W) are channels-last in memory.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from probe.batch import Transform

Gradients = Mapping[Any, Tensor]
"""The tensors for the gradients, by parameter; frozen parameters have none."""

# Numbers in the windows of a convolution, or three times those in its outputs, above
# which a chain gains nothing: docs/speed.md.
_MOST = 3 * 2**16


class Link(NamedTuple):
    """The passes of a layer of a chain, for inputs of a fixed shape.

    Attributes:
        forward: Function that maps a batch x (B, ...) to y (B, ...).
        backward: Function of x, the gradient of y, and whether the gradient of x is
            needed. It writes the gradients of the parameters, and returns that of x if
            it is needed.
    """

    forward: Transform
    backward: Callable[[Tensor, Tensor, bool], Tensor]


def dense(
    dx: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gradients: Gradients,
) -> Link:
    """Return the link of R rows (R, D) times weights (O, D), plus biases (O,), as in `nn.Linear`.

    Args:
        dx: Memory for the gradient of the rows, (R, D).
        weight: The weights, (O, D).
        bias: The biases, (O,).
        gradients: The memory of the parameters' gradients.

    Returns:
        The link.
    """
    dw = gradients.get(weight)
    db = gradients.get(bias)
    y = weight.new_empty(len(dx), len(weight))

    def forward(x: Tensor) -> Tensor:
        if bias is None:
            return torch.mm(x, weight.t(), out=y)
        return torch.addmm(bias, x, weight.t(), out=y)

    def backward(x: Tensor, dy: Tensor, wanted: bool) -> Tensor:
        if dw is not None:
            torch.mm(dy.t(), x, out=dw)
        if db is not None:
            torch.sum(dy, 0, out=db)
        return torch.mm(dy, weight, out=dx) if wanted else dy

    return Link(forward, backward)


def gains(module: nn.Module, x: Tensor, size: int) -> bool:
    """Return whether a layer is faster, or as fast, in a chain, for inputs like x (1, ...).

    Dense layers take rows, without positions, and flattening gives rows; convolutions
    are plain, and their windows and outputs hold few numbers. A layer that does not fit
    its inputs gains nothing.

    Args:
        module: The layer.
        x: An example of its inputs.
        size: The number of examples of a batch.
    """
    if isinstance(module, nn.Linear):
        return x.shape[1:] == (module.in_features,)
    if isinstance(module, nn.Flatten):
        return (module.start_dim, module.end_dim) == (1, -1)
    if not isinstance(module, nn.Conv2d):
        return True
    if x.ndim != 4 or x.shape[1] != module.in_channels:
        return False
    pixels = size * math.prod(_output_shape(module, x)[:3])
    numbers = max(module.weight[0].numel(), 3 * module.out_channels)
    return 0 < pixels * numbers <= _MOST


def windows(module: nn.Conv2d, x: Tensor, gradients: Gradients) -> Link:
    """Return the link of a convolution: one product of its weights and the windows of the image.

    Args:
        module: The convolution, see `gains`, its weight in `torch.channels_last`.
        x: A batch like its inputs, (B, C, H, W).
        gradients: The memory of the parameters' gradients.

    Returns:
        The link.
    """
    shape = _output_shape(module, x)
    rows, drows, cutting = _windows(module, x)
    # The weights as a matrix (O, D), with memory for its gradient.
    matrix = _as_matrix(module.weight.detach())
    places = dict(gradients)
    if module.weight in gradients:
        places[matrix] = _as_matrix(gradients[module.weight])
    product = dense(drows, matrix, module.bias, places)

    def forward(x: Tensor) -> Tensor:
        return product.forward(cutting.forward(x)).view(shape).permute(0, 3, 1, 2)

    def backward(x: Tensor, dy: Tensor, wanted: bool) -> Tensor:
        product.backward(rows, dy.permute(0, 2, 3, 1).reshape(len(rows), -1), wanted)
        return cutting.backward(x, drows, True) if wanted else dy

    return Link(forward, backward)


def _output_shape(module: nn.Conv2d, x: Tensor) -> tuple[int, ...]:
    """Return the shape of y, channels last: (B, H', W', O), (0,) for one that is not plain.

    A plain convolution has no groups, no dilation and no padding but zeros.
    """
    is_dense = module.groups == 1 and set(module.dilation) == {1}
    is_plain = is_dense and module.padding_mode == "zeros"
    if x.ndim != 4 or isinstance(module.padding, str) or not is_plain:
        return (0,)
    outputs = []
    for pixels, taps, stride, padding in zip(
        x.shape[2:], module.kernel_size, module.stride, module.padding, strict=True
    ):
        outputs.append((pixels + 2 * padding - taps) // stride + 1)
    return len(x), *outputs, module.out_channels


def _windows(module: nn.Conv2d, x: Tensor) -> tuple[Tensor, Tensor, Link]:
    """Return the link from images like x (B, C, H, W) to their windows, a row (R, D) for each.

    Its forward pass fills the first tensor returned, the windows; its backward pass reads
    the second, their gradient. R = B H' W', with H' W' outputs, and D = taps taps C.
    """
    batch, channels, height, width = x.shape
    above, left = cast(tuple[int, int], module.padding)
    # Padded images and their gradients, and views of the unpadded ones.
    padded = x.new_zeros(2, batch, height + 2 * above, width + 2 * left, channels)
    inner = padded[:, :, above : above + height, left : left + width]
    image, dimage = inner.permute(0, 1, 4, 2, 3)
    windows, dwindows = _unfold(module, padded).unbind()
    copied = windows.contiguous()
    dcopied = windows.new_empty(windows.shape)
    # Windows overlap, so that a pixel has the sum of several gradients. Tap by tap there
    # is no overlap: each tap sees a pixel in one window only.
    pairs = []
    for i, j in np.ndindex(module.kernel_size):
        pairs.append((dwindows[:, :, :, i, j], dcopied[:, :, :, i, j]))
    numbers = windows[0, 0, 0].numel()

    def forward(x: Tensor) -> Tensor:
        image.copy_(x)
        # Of 1 x 1 convolutions they are the images themselves.
        if copied.data_ptr() != windows.data_ptr():
            copied.copy_(windows)
        return rows

    def backward(x: Tensor, dy: Tensor, wanted: bool) -> Tensor:
        padded[1].zero_()
        for dpixels, dtap in pairs:
            dpixels += dtap
        return cast(Tensor, dimage)

    rows = copied.view(-1, numbers)
    return rows, dcopied.view(-1, numbers), Link(forward, backward)


def _unfold(module: nn.Conv2d, images: Tensor) -> Tensor:
    """Return views of the windows (2, B, H', W', taps, taps, C) of images (2, B, H, W, C)."""
    for axis, (taps, stride) in enumerate(
        zip(module.kernel_size, module.stride, strict=True), 2
    ):
        images = images.unfold(axis, taps, stride)
    return images.permute(0, 1, 2, 3, 5, 6, 4)


def _as_matrix(weight: Tensor) -> Tensor:
    """Return a view (O, D) of the weight (O, C, H, W) of a convolution, channels last."""
    return weight.permute(0, 2, 3, 1).view(len(weight), -1)


def elementwise(module: nn.ReLU | nn.Tanh, x: Tensor) -> Link:
    """Return the link of an activation for inputs like x; its backward pass overwrites dy."""
    y = torch.empty_like(x)
    rectifies = isinstance(module, nn.ReLU)

    def forward(x: Tensor) -> Tensor:
        return torch.clamp_min(x, 0, out=y) if rectifies else torch.tanh(x, out=y)

    def backward(x: Tensor, dy: Tensor, wanted: bool) -> Tensor:
        if rectifies:
            torch.ops.aten.threshold_backward.grad_input(dy, y, 0, grad_input=dy)
        else:
            torch.ops.aten.tanh_backward.grad_input(dy, y, grad_input=dy)
        return dy

    return Link(forward, backward)


def flatten(x: Tensor) -> Link:
    """Return the link of `nn.Flatten` of all but the first dimension, for inputs like x."""
    dx = torch.empty_like(x)

    def forward(x: Tensor) -> Tensor:
        return x.reshape(len(x), -1)

    def backward(x: Tensor, dy: Tensor, wanted: bool) -> Tensor:
        return dx.copy_(dy.view_as(dx))

    return Link(forward, backward)


def by_autograd(module: nn.Module) -> Link:
    """Return the link of a layer without parameters, each of whose passes builds its own graph."""
    leaf = y = torch.empty(0)

    def forward(x: Tensor) -> Tensor:
        nonlocal leaf, y
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            y = cast(Tensor, module(leaf))
        return y.detach()

    def backward(x: Tensor, dy: Tensor, wanted: bool) -> Tensor:
        if not wanted:
            return dy
        [dx] = torch.autograd.grad(y, [leaf], dy)
        return dx

    return Link(forward, backward)
