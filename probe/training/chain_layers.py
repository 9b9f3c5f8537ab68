"""Links of a chain: layers whose forward and backward passes are written out, into reused memory.

A link is made for inputs of one shape. `forward` maps x (B, ...) to y (B, ...); `backward` takes
the gradient of the last y, writes those of the parameters, and returns that of x if it is needed.
The next pass overwrites what they return. Images (B, C, H, W) are channels-last in memory.
"""

import math
from collections.abc import Mapping
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

Gradients = Mapping[Any, Tensor]
"""The tensors that gradients are written to, by parameter; frozen parameters have none."""


class Link(Protocol):
    """A layer of a chain, for inputs of one shape."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the output for a batch."""

    def backward(self, dy: Tensor, wanted: bool) -> Tensor:
        """Write the gradients of the parameters.

        Args:
            dy: The gradient of the output.
            wanted: Whether the gradient of the input is needed.

        Returns:
            The gradient of the input, if it is needed.
        """


class Dense(Link):
    """R rows (R, D) times weights (O, D), plus biases (O,), such as `nn.Linear` on vectors."""

    def __init__(
        self, rows: int, weight: Tensor, bias: Tensor | None, gradients: Gradients
    ) -> None:
        self._dw, self._db = gradients.get(weight), None if bias is None else gradients.get(bias)
        self._weight, self._bias = weight, bias
        self._y = weight.new_empty(rows, len(weight))
        self.dx = weight.new_empty(rows, weight.shape[1])

    def forward(self, x: Tensor) -> Tensor:
        """Return the products (R, O)."""
        self._x = x
        if self._bias is None:
            return torch.mm(x, self._weight.t(), out=self._y)
        return torch.addmm(self._bias, x, self._weight.t(), out=self._y)

    def backward(self, dy: Tensor, wanted: bool) -> Tensor:
        """Return the gradient of the rows (R, D)."""
        if self._dw is not None:
            torch.mm(dy.t(), self._x, out=self._dw)
        if self._db is not None:
            torch.sum(dy, 0, out=self._db)
        return torch.mm(dy, self._weight, out=self.dx) if wanted else dy


class Side:
    """One side of an image (pixels), of its convolution's kernel (taps), and of the padded image.

    live: the taps that see the image in some output; image: its place in the smallest padded image,
    of `padded` pixels, which the live taps do not leave.

    >>> side = Side(2, 3, 2, 1)
    >>> side.outputs, side.live, side.image, side.padded
    (1, slice(1, 3, None), slice(0, 2, None), 2)
    """

    def __init__(self, pixels: int, taps: int, stride: int, padding: int) -> None:
        self.outputs, self.stride = (pixels + 2 * padding - taps) // stride + 1, stride
        starts = [stride * output - padding for output in range(self.outputs)]
        live = [tap for tap in range(taps) if any(0 <= at + tap < pixels for at in starts)]
        first, self.count = (live[0], live[-1] + 1 - live[0]) if live else (0, 0)
        self.live = slice(first, first + self.count)
        before = padding - first
        self.image = slice(before, before + pixels)
        self.padded = max(before + pixels, stride * (self.outputs - 1) + self.count)

    def seen_by(self, tap: int) -> slice:
        """Return the pixels of the padded image that a live tap sees, counted from the first."""
        return slice(tap, tap + self.stride * (self.outputs - 1) + 1, self.stride)


class Matrix:
    """A view (R, ...) as a matrix (R, D): the same memory where it is in order, else a copy."""

    def __init__(self, view: Tensor, rows: int) -> None:
        self._view = None if view.is_contiguous() else view
        self.values = view.contiguous().view(rows, -1)

    def read(self) -> Tensor:
        """Return the matrix, with the view's values."""
        if self._view is not None:
            self.values.view_as(self._view).copy_(self._view)
        return self.values

    def write(self) -> None:
        """Give the view the matrix's values."""
        if self._view is not None:
            self._view.copy_(self.values.view_as(self._view))


class Windows(Link):
    """`nn.Conv2d` as one product of its weights and the windows of the image.

    Taps that see nothing but padding take no part, as their gradients are 0: on an image of 2 x 2,
    a padded 3 x 3 kernel of stride 2 has four others. saved: the multiply-adds that this spared in
    the last pass, back and forth.
    """

    saved = 0

    @staticmethod
    def _sides(module: nn.Conv2d, x: Tensor) -> tuple[Side, ...]:
        padding = cast(tuple[int, ...], module.padding)
        return tuple(map(Side, x.shape[2:], module.kernel_size, module.stride, padding))

    @classmethod
    def numbers(cls, module: nn.Conv2d, x: Tensor) -> int:
        """Return how many numbers the windows hold.

        Args:
            module: The convolution.
            x: Its input.

        Returns:
            The number; 0 if there are no windows, or no plain ones.
        """
        plain = module.groups == 1 and set(module.dilation) == {1} and x.ndim == 4
        if not plain or module.padding_mode != "zeros" or isinstance(module.padding, str):
            return 0
        sides = (side.outputs * side.count for side in cls._sides(module, x))
        return len(x) * x.shape[1] * math.prod(max(0, side) for side in sides)

    def __init__(self, module: nn.Conv2d, x: Tensor, gradients: Gradients) -> None:
        (b, c), weight = x.shape[:2], module.weight
        high, wide = self._sides(module, x)

        def live(weights: Tensor) -> Matrix:
            return Matrix(weights.permute(0, 2, 3, 1)[:, high.live, wide.live], len(weights))

        self._weight, self._all = live(weight.detach()), gradients.get(weight)
        self._dweight = None if self._all is None else live(self._all)
        padded, dpadded = x.new_zeros(2, b, high.padded, wide.padded, c)
        self._shape = (b, high.outputs, wide.outputs, len(weight))
        n, row, pixel, channel = padded.stride()
        size = (*self._shape[:3], high.count, wide.count, c)
        steps = (n, high.stride * row, wide.stride * pixel, row, pixel, channel)
        self._windows = Matrix(padded.as_strided(size, steps), torch.Size(size[:3]).numel())
        matrix, places = self._weight.values, dict[Tensor, Tensor]()
        if self._dweight is not None:
            places[matrix] = self._dweight.values
        if module.bias is not None and module.bias in gradients:
            places[module.bias] = gradients[module.bias]
        self._dense = Dense(len(self._windows.values), matrix, module.bias, places)
        self._dead = len(self._windows.values) * (weight.numel() - matrix.numel())
        dwindows = self._dense.dx.view(size)
        self._seen = [
            (dpadded[:, high.seen_by(i), wide.seen_by(j)], dwindows[:, :, :, i, j])
            for i in range(high.count)
            for j in range(wide.count)
        ]
        if dwindows[:, 0, 0].shape == dpadded.shape and size[1:3] == (1, 1):
            dpadded, self._seen = dwindows[:, 0, 0], []  # a single window is the padded image
        image: list[Tensor] = [
            image[:, high.image, wide.image].permute(0, 3, 1, 2) for image in (padded, dpadded)
        ]
        self._dpadded, (self._image, self._dimage) = dpadded, image

    def forward(self, x: Tensor) -> Tensor:
        """Copy the windows, and return their product with the weights (B, O, H', W')."""
        self.saved = self._dead
        self._image.copy_(x)
        self._weight.read()
        return self._dense.forward(self._windows.read()).view(self._shape).permute(0, 3, 1, 2)

    def backward(self, dy: Tensor, wanted: bool) -> Tensor:
        """Add up over windows."""
        self.saved += self._dead * ((self._dweight is not None) + wanted)
        self._dense.backward(dy.permute(0, 2, 3, 1).reshape(-1, self._shape[3]), wanted)
        if self._all is not None and self._dweight is not None:
            if self._dead:
                self._all.zero_()  # what a penalty may have added to the last gradient
            self._dweight.write()
        if wanted and self._seen:
            self._dpadded.zero_()
            for pixels, gradient in self._seen:
                pixels += gradient
        return self._dimage


class Relu(Link):
    """`nn.ReLU`."""

    def __init__(self, x: Tensor) -> None:
        self._y = torch.empty_like(x)

    def forward(self, x: Tensor) -> Tensor:
        """Return max(x, 0)."""
        return torch.clamp_min(x, 0, out=self._y)

    def backward(self, dy: Tensor, wanted: bool) -> Tensor:
        """Return dy where x was above 0, in the memory of dy."""
        torch.ops.aten.threshold_backward.grad_input(dy, self._y, 0, grad_input=dy)
        return dy


class Flatten(Link):
    """`nn.Flatten` of all but the first dimension."""

    def __init__(self, x: Tensor) -> None:
        self._dx = torch.empty_like(x)

    def forward(self, x: Tensor) -> Tensor:
        """Return vectors (B, D)."""
        return x.reshape(len(x), -1)

    def backward(self, dy: Tensor, wanted: bool) -> Tensor:
        """Return dy (B, D) in the shape of x."""
        return self._dx.copy_(dy.view(self._dx.shape))


class Autograd(Link):
    """Any other layer, by autograd."""

    def __init__(self, module: nn.Module, gradients: Gradients) -> None:
        self._module = module
        self._places = {p: gradients[p] for p in module.parameters() if p in gradients}

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, without its graph."""
        self._x = x.detach().requires_grad_()
        with torch.enable_grad():
            # A copy: the layer may write into its input, which a leaf forbids.
            self._y = cast(Tensor, self._module(self._x.clone()))
        return self._y.detach()

    def backward(self, dy: Tensor, wanted: bool) -> Tensor:
        """Return the gradient of x, through the graph."""
        inputs = [*self._places, *([self._x] if wanted else [])]
        gradients = torch.autograd.grad(self._y, inputs, dy) if inputs else (dy,)
        for place, gradient in zip(self._places.values(), gradients, strict=False):
            place.copy_(gradient)
        return gradients[-1]
