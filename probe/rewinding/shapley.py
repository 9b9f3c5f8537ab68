"""Shapley values: what is gained by all players together, divided among them.

A coalition is a set of players, here a bit mask: player k has the bit 2^k.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import factorial

import numpy as np

from probe.arrays import Floats, Ints
from probe.immutable import immutable

Values = Mapping[int, Floats]
"""The values of coalitions, each (N,), by the bits of their players."""

EXACT = 256
"""The coalitions up to which all are evaluated by default: those of 8 players."""

_FEWEST = 2  # pairs of orders, from which a standard error can be estimated


@immutable
class Coalitions:
    """The coalitions of m players that are evaluated, and what follows from their values.

    Up to `limit` coalitions in all, every one is evaluated, and the values are exact.
    Beyond, they are means over random orders in pairs, an order and its reverse; the
    coalitions that `alone` and `last` need come first, and two pairs at least follow.

    Source: Shapley 1953; pairs as in Mitchell et al., JMLR 2022.

    >>> design = Coalitions(players=2)
    >>> v = {0: [0.0], 1: [1.0], 2: [2.0], 3: [5.0]}
    >>> design.attributed({mask: np.array(x) for mask, x in v.items()}).tolist()
    [[2.0], [3.0]]

    Args:
        players: m.
        limit: The number of coalitions to evaluate.
        seed: The seed of the orders.
    """

    players: int
    limit: int = EXACT
    seed: int = 0

    @property
    def exact(self) -> bool:
        """Whether every coalition is evaluated."""
        return 1 << self.players <= self.limit

    @cached_property
    def orders(self) -> Ints:
        """The random orders, (2 P, m), each followed by its reverse."""
        m = self.players
        pairs = 0
        if m > 3:
            pairs = (self.limit - 2 - 2 * m) // (2 * m - 6)
        generator = np.random.default_rng(self.seed)
        orders = []
        for _ in range(max(pairs, _FEWEST)):
            order = generator.permutation(m)
            orders += [order, order[::-1]]
        return np.array(orders)

    @cached_property
    def masks(self) -> list[int]:
        """The coalitions to evaluate, ascending."""
        m = self.players
        every = 2**self.players - 1
        if self.exact:
            return list(range(every + 1))
        masks = {0, every}
        for k in range(m):
            masks |= {1 << k, every ^ (1 << k)}
        return sorted(masks.union(*map(_chain, self.orders)))

    def attributed(self, values: Values) -> Floats:
        """Return the share of each player, (m, n); they add up to what all gain together.

        Args:
            values: By coalition, (n,).
        """
        if not self.exact:
            return np.asarray(self._by_pair(values).mean(axis=0))
        m = self.players
        total = np.zeros((m, len(values[0])))
        for k in range(m):
            for mask in self.masks:
                if not mask >> k & 1:
                    size = mask.bit_count()
                    # Whole numbers of 0 or 1 stay whole until the one division.
                    weight = factorial(size) * factorial(m - size - 1)
                    total[k] += weight * (values[mask | 1 << k] - values[mask])
        return total / factorial(m)

    def error(self, values: Values) -> Floats:
        """Return the standard error that drawing orders adds to each player's mean share, (m,).

        It follows from how the mean shares differ between the P pairs of orders, and is
        the same for all players: two pairs say too little of one of them.

        Args:
            values: By coalition, (n,).
        """
        if self.exact:
            return np.zeros(self.players)
        means = self._by_pair(values).mean(axis=2)
        variance = means.var(axis=0, ddof=1).mean()
        return np.full(self.players, np.sqrt(variance / len(means)))

    def alone(self, values: Values) -> Floats:
        """Return what each player gains without the others, (m, n)."""
        gains = np.zeros((self.players, len(values[0])))
        for k in range(self.players):
            gains[k] = values[1 << k] - values[0]
        return gains

    def last(self, values: Values) -> Floats:
        """Return what is lost if each player leaves all others, (m, n)."""
        every = 2**self.players - 1
        losses = np.zeros((self.players, len(values[every])))
        for k in range(self.players):
            losses[k] = values[every] - values[every ^ (1 << k)]
        return losses

    def _by_pair(self, values: Values) -> Floats:
        """Return the mean share of each player in each pair of orders, (P, m, n)."""
        shares = []
        for order in self.orders:
            chain = np.array([values[mask] for mask in (0, *_chain(order))])
            gains = np.diff(chain, axis=0)
            shares.append(gains[np.argsort(order)])
        n_pairs = len(self.orders) // 2
        pairs = np.array(shares).reshape(n_pairs, 2, self.players, -1)
        return np.asarray(pairs.mean(axis=1))


def _chain(order: Sequence[int] | Ints) -> list[int]:
    """Return the coalitions as players join in an order, from the first player's own to all."""
    return list(accumulate((1 << int(k) for k in order), int.__or__))
