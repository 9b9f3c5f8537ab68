"""Links of a chain: layers whose forward and backward passes are written out, into reused memory.

A link is made for inputs of a fixed shape. Its next pass overwrites the results of the
last. Images (B, C, H, W) are channels-last in memory.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

Gradients = Mapping[Any, Tensor]
"""The tensors for the gradients, by parameter; frozen parameters have none."""

# Numbers in the windows of a convolution, above which torch's kernels are faster:
# docs/speed.md.
_MOST = 2**19


class Link(NamedTuple):
    """The passes of a layer of a chain, for inputs of a fixed shape.

    Attributes:
        forward: Function that maps a batch x (B, ...) to y (B, ...).
        backward: Function of x, the gradient of y, and whether the gradient of x is
            needed. It writes the gradients of the parameters, and returns that of x if
            it is needed.
        spared: The number of multiply-adds that a product of the layer skips, as all
            are zero.
    """

    forward: Callable[[Tensor], Tensor]
    backward: Callable[[Tensor, Tensor, bool], Tensor]
    spared: int = 0


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


class Side(NamedTuple):
    """One side, height or width, of a convolution's windows.

    A tap is a row or column of the kernel. It is live if it sees the image in some
    output; any other sees only padding.

    Attributes:
        outputs: The number of outputs.
        live: The slice of the live taps, which make up a window.
        image: The slice of the image in the smallest padded image that no window leaves.
        padded: The side of this padded image.
        taps: The number of live taps.
    """

    outputs: int
    live: slice
    image: slice
    padded: int
    taps: int


def side(pixels: int, taps: int, stride: int, padding: int) -> Side:
    """Measure one side of a convolution's windows.

    Args:
        pixels: The image's side.
        taps: The kernel's side.
        stride: The pixels from one output to the next.
        padding: The zeros before and after the image.

    >>> [*side(2, 3, 2, 1)]
    [1, slice(1, 3, None), slice(0, 2, None), 2, 2]
    """
    outputs = (pixels + 2 * padding - taps) // stride + 1
    live = []
    for tap in range(taps):
        seen = (stride * output - padding + tap for output in range(outputs))
        if any(0 <= pixel < pixels for pixel in seen):
            live.append(tap)
    first, end = (live[0], live[-1] + 1) if live else (0, 0)
    before = padding - first
    padded = max(before + pixels, stride * (outputs - 1) + end - first)
    image = slice(before, before + pixels)
    return Side(
        outputs=outputs,
        live=slice(first, end),
        image=image,
        padded=padded,
        taps=end - first,
    )


def windows(module: nn.Conv2d, x: Tensor, gradients: Gradients) -> Link | None:
    """Return the link of a convolution: one product of its weights and the windows of the image.

    Taps that see only padding are left out, as their gradients are 0: on an image of 2
    x 2, only four taps of a padded 3 x 3 kernel of stride 2 are used.

    Args:
        module: The convolution.
        x: A batch like its inputs, (B, C, H, W).
        gradients: The memory of the parameters' gradients.

    Returns:
        The link, None for convolutions that are not plain or whose windows hold too
        many numbers.
    """
    if x.ndim != 4 or isinstance(module.padding, str) or not _is_plain(module):
        return None
    height, width = map(
        side,
        x.shape[2:],
        module.kernel_size,
        module.stride,
        module.padding,
    )
    live_taps = slice(None), height.live, width.live
    live = module.weight.detach().permute(0, 2, 3, 1)[live_taps]  # (O, taps, taps, C)
    shape = len(x), height.outputs, width.outputs, len(live)  # of y, channels last
    if not 0 < math.prod(shape[:3]) * live[0].numel() <= _MOST:
        return None
    rows, drows, cutting = _windows(x, height, width, module.stride)
    # The weights as a matrix (O, D), with memory for its gradient.
    kernel = live.contiguous()
    matrix = kernel.view(len(live), -1)
    places = dict(gradients)
    dweight = gradients.get(module.weight)
    if dweight is not None:
        dlive = dweight.permute(0, 2, 3, 1)[live_taps]
        dkernel = dlive.contiguous()
        places[matrix] = dkernel.view_as(matrix)
    product = dense(drows, matrix, module.bias, places)

    def forward(x: Tensor) -> Tensor:
        _copy(kernel, live)
        return product.forward(cutting.forward(x)).view(shape).permute(0, 3, 1, 2)

    def backward(x: Tensor, dy: Tensor, wanted: bool) -> Tensor:
        # Where taps are dead, a penalty may have added to the last gradient.
        if dweight is not None:
            dweight.zero_()
        product.backward(rows, dy.permute(0, 2, 3, 1).reshape(len(rows), -1), wanted)
        if dweight is not None:
            _copy(dlive, dkernel)
        return cutting.backward(x, drows, True) if wanted else dy

    return Link(forward, backward, len(rows) * (module.weight.numel() - live.numel()))


def _is_plain(module: nn.Conv2d) -> bool:
    """Return whether a convolution has no groups, no dilation and no padding but zeros."""
    is_dense = module.groups == 1 and set(module.dilation) == {1}
    return is_dense and module.padding_mode == "zeros"


def _windows(
    x: Tensor,
    height: Side,
    width: Side,
    strides: Sequence[int],
) -> tuple[Tensor, Tensor, Link]:
    """Return the link from images like x (B, C, H, W) to their windows, a row (R, D) for each.

    Its forward pass fills the first tensor returned, the windows; its backward pass reads
    the second, their gradient. R = B H' W', with H' W' outputs, and D = taps taps C.
    """
    # Padded images and their gradients, and views of the unpadded ones.
    padded = x.new_zeros(2, len(x), height.padded, width.padded, x.shape[1])
    image, dimage = padded[:, :, height.image, width.image].permute(0, 1, 4, 2, 3)
    views = padded.unfold(2, height.taps, strides[0])[:, :, : height.outputs]
    views = views.unfold(3, width.taps, strides[1])[:, :, :, : width.outputs]
    # (B, H', W', taps, taps, C), which look at the same memory as the padded images.
    windows, dwindows = views.permute(0, 1, 2, 3, 5, 6, 4).unbind()
    copied = windows.contiguous()
    dcopied = windows.new_empty(windows.shape)
    # Windows overlap, so that a pixel has the sum of several gradients. Tap by tap there
    # is no overlap: each tap sees a pixel in one window only.
    pairs = []
    for i, j in np.ndindex(height.taps, width.taps):
        pairs.append((dwindows[:, :, :, i, j], dcopied[:, :, :, i, j]))
    numbers = windows[0, 0, 0].numel()

    def forward(x: Tensor) -> Tensor:
        image.copy_(x)
        _copy(copied, windows)
        return rows

    def backward(x: Tensor, dy: Tensor, wanted: bool) -> Tensor:
        padded[1].zero_()
        for dpixels, dtap in pairs:
            dpixels += dtap
        return cast(Tensor, dimage)

    rows = copied.view(-1, numbers)
    return rows, dcopied.view(-1, numbers), Link(forward, backward)


def _copy(target: Tensor, values: Tensor) -> None:
    """Copy values of the same shape, unless the target is a view of them."""
    if target.data_ptr() != values.data_ptr():
        target.copy_(values)


def elementwise(module: nn.ReLU | nn.Tanh, x: Tensor) -> Link:
    """Return the link of an activation for inputs like x; it overwrites the gradient of y."""
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


def by_autograd(module: nn.Module, gradients: Gradients) -> Link:
    """Return the link of any other layer, each of whose passes builds its own graph."""
    places = {p: gradients[p] for p in module.parameters() if p in gradients}
    leaf = y = torch.empty(0)

    def forward(x: Tensor) -> Tensor:
        nonlocal leaf, y
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            # A copy: the layer may write into its input, which a leaf forbids.
            y = cast(Tensor, module(leaf.clone()))
        return y.detach()

    def backward(x: Tensor, dy: Tensor, wanted: bool) -> Tensor:
        inputs: list[Tensor] = list(places)
        if wanted:
            inputs.append(leaf)
        if not inputs:
            return dy
        computed = torch.autograd.grad(y, inputs, dy)
        for place, gradient in zip(places.values(), computed, strict=False):
            place.copy_(gradient)
        return computed[-1]

    return Link(forward, backward)
