"""A self-organizing map, and its steps through a block of examples."""

import math

import torch
from torch import Tensor, nn


class SelfOrganizingMap(nn.Module):
    """A self-organizing map: U = rows x columns units on a square lattice, each with a prototype.

    From inputs (B, ...), which it flattens to (B, D), it gives the units' activity (B,
    U) in (0, 1]. With d_i the distance of an input from the prototype of unit i, and b
    the nearest unit (the winner),

        z_i = exp(-(d_i^2 - d_b^2) / (2 width^2 s))
        s = the mean over the units of d_i^2 - d_b^2

    so that the winner's activity is 1, and the activity does not change when all inputs
    and prototypes are scaled by a number, or get further elements that are the same in
    all prototypes. The formula is ours, as the papers give none (Kemker 2018's
    supplement: "custom").

    `prototypes` is (U, D), in the space of the inputs; `width`, above 0, is the width
    of the activity.
    """

    def __init__(self, inputs: int, rows: int, columns: int, width: float) -> None:
        super().__init__()
        self.rows = rows
        self.columns = columns
        self.width = width
        self.prototypes = nn.Parameter(torch.empty(rows * columns, inputs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw small prototypes, N(0, 0.01^2), which the first examples move."""
        nn.init.normal_(self.prototypes, std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (B, ...) to the activity (B, U)."""
        return self.activity(self.squared_distances(x.flatten(1)))

    def squared_distances(self, x: Tensor) -> Tensor:
        """Return the squared distances (B, U) of inputs (B, D) from the prototypes."""
        # |w|^2 + |x|^2 - 2 w x: one matrix product.
        w = self.prototypes
        norms = w.square().sum(1) + x.square().sum(1, True)
        return torch.addmm(norms, x, w.T, alpha=-2)

    def activity(self, squared: Tensor) -> Tensor:
        """Return the activity (..., U) for squared distances (..., U) from the prototypes."""
        beyond = squared - squared.amin(-1, keepdim=True)
        # Where all units are equally near, all of them are active.
        scale = beyond.mean(-1, keepdim=True).clamp_(min=torch.finfo(beyond.dtype).tiny)
        return (beyond / scale).mul(-0.5 / self.width**2).exp()

    def lattice(self) -> Tensor:
        """Return the squared distances (U, U) between units on the lattice; neighbors are 1 apart.

        >>> SelfOrganizingMap(3, rows=2, columns=2, width=0.2).lattice()[0].tolist()
        [0.0, 1.0, 1.0, 2.0]
        """
        unit = torch.arange(self.rows * self.columns, device=self.prototypes.device)
        rows_columns = torch.stack([unit // self.columns, unit % self.columns], 1)
        between = rows_columns[:, None] - rows_columns
        return between.square().sum(2).to(self.prototypes.dtype)

    def shares(self, rate: float, radius: float) -> Tensor:
        """Return the share of the way to an example that each prototype moves, by winner, (U, U).

        Args:
            rate: The share of the winner, 0 to 1.
            radius: The radius of the neighborhood on the lattice, above 0.

        Returns:
            The shares.
        """
        return (self.lattice() * (-0.5 / radius**2)).exp_().mul_(rate)


class MapSteps:
    """The steps of a map through a block of B examples.

    In each step, every prototype w_i moves toward the example x by a share p_i of the
    way,

        w_i <- w_i + p_i (x - w_i),    p_i = rate exp(-g_i^2 / (2 radius^2))

    with g_i the distance between unit i and the winner on the lattice (Kohonen 1982).

    Within a block the prototypes stay in the span of those at its start and of its
    examples: w_i = s_i (w_i^0 + sum_j c_ij x_j). A step needs only their products with
    the examples, which follow from w^0 x and x x, each one matrix product for the whole
    block; so a step costs B rather than D multiply-adds per unit. `write` stores the
    prototypes. Up to rounding, the result equals that of steps on the prototypes
    themselves.
    """

    def __init__(self, som: SelfOrganizingMap, x: Tensor) -> None:
        prototypes = som.prototypes.detach()
        gram = x @ x.T
        self._prototypes = prototypes
        self._x = x
        # As rows: indexing a tensor takes as long as a step's arithmetic.
        self._products = (x @ prototypes.T).unbind()
        self._gram = gram.unbind()
        self._squares = gram.diagonal().tolist()
        self._norms = prototypes.square().sum(1)
        # c (B, U), with a row for each example and its transpose, and s (U,).
        self._c = prototypes.new_zeros(len(x), len(prototypes))
        self._c_rows = self._c.unbind()
        self._ct = self._c.T
        self._ones = torch.ones_like(self._norms)
        self._s = self._ones.clone()
        # Memory for the steps: allocation takes as long as their arithmetic.
        self._product = torch.empty_like(self._s)
        self._squared = torch.empty_like(self._s)
        self._keep = torch.empty_like(self._s)
        self._moved = False

    def squared_distances(self, k: int) -> Tensor:
        """Return the squared distances (U,) of example k, from 0; the next call overwrites them."""
        # w x = s (w^0 x + sum_j c_j x_j x), and |w - x|^2 = |w|^2 - 2 w x + |x|^2.
        product = self._product
        torch.addmv(self._products[k], self._ct, self._gram[k], out=product)
        product.mul_(self._s)
        torch.sub(self._norms, product, alpha=2, out=self._squared)
        return self._squared.add_(self._squares[k])

    def move(self, k: int, share: Tensor) -> None:
        """Move the prototypes toward an example, right after its distances were computed.

        Args:
            k: The index of the example.
            share: The share of the way that each prototype moves, (U,).
        """
        keep = torch.sub(self._ones, share, out=self._keep)
        # |w + p (x - w)|^2 = (1 - p) ((1 - p) |w|^2 + 2 p w x) + p^2 |x|^2
        self._norms.mul_(keep).addcmul_(self._product, share, value=2).mul_(keep)
        self._norms.addcmul_(share, share, value=self._squares[k])
        # s takes account of w shrinking by (1 - p); x enters with p / s.
        torch.div(share, self._s.mul_(keep), out=self._c_rows[k])
        self._moved = True

    def write(self) -> None:
        """Store the moved prototypes."""
        # Without a move, rounding must not change a bit.
        if self._moved:
            self._prototypes.addmm_(self._ct, self._x).mul_(self._s[:, None])


def decayed(first: float, last: float, part: float) -> float:
    """Return the value of an exponential decay at a point of its course.

    Args:
        first: The value at the start.
        last: The value at the end.
        part: The point, 0 (start) to 1 (end).

    Returns:
        The value.

    >>> round(decayed(0.1, 0.001, 0.5), 6)
    0.01
    """
    return first * math.pow(last / first, part)


def longest_block(rate: float, most: int = 64) -> int:
    """Return the largest number of steps that can be done as a block.

    More than a millionth of a prototype must be left after them, because shares are
    divided by what is left.

    Args:
        rate: The learning rate, above 0 and below 1.
        most: The largest number to return.

    Returns:
        The number of steps, from 1.

    >>> longest_block(0.01), longest_block(0.9)
    (64, 5)
    """
    return max(1, min(most, int(math.log(1e-6) / math.log1p(-rate))))
