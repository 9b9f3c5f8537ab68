"""The search for a path: a population of random ones, tournaments of two, and mutation."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_FARTHEST = 2  # a mutated gene moves by -2 to 2


def search_path(
    fitness: Callable[[Tensor], float],
    population: Tensor,
    modules: int,
    generations: int,
    generator: torch.Generator,
) -> Tensor:
    """Return the fittest path (L, N) after that many tournaments.

    In a tournament two paths, drawn at random, are evaluated one after the other; the loser is
    overwritten by a mutated copy of the winner (the first, where they are equally fit). The fittest
    is the one that did best when it was last evaluated, among those still there.

    fitness: of a path, higher is better, called twice in a tournament; population: P paths
    (P, L, N), P from 2, not changed; modules: M per layer. Source: Fernando et al. 2017, section 2
    (binary tournaments).

    >>> draw = torch.Generator().manual_seed(0)
    >>> paths = random_paths(8, 2, 3, modules=10, generator=draw)
    >>> best = search_path(lambda path: -float(path.sum()), paths, 10, 200, draw)
    >>> int(best.sum()) < int(paths.sum((1, 2)).min())
    True
    """
    paths = population.clone()
    fit = torch.full((len(paths),), -torch.inf, dtype=torch.float64)
    for _ in range(generations):
        pair = torch.randperm(len(paths), generator=generator)[:2].tolist()
        for one in pair:
            fit[one] = fitness(paths[one].clone())
        winner, loser = pair if fit[pair[0]] >= fit[pair[1]] else pair[::-1]
        paths[loser] = mutated(paths[winner], modules, generator)
        fit[loser] = -torch.inf
    return paths[int(fit.argmax())]


def random_paths(
    population: int, layers: int, active: int, modules: int, generator: torch.Generator
) -> Tensor:
    """Return P paths (P, L, N): for each layer the numbers of N of its M modules, from 0.

    Each number is drawn on its own, so that a module may be named twice.
    """
    return torch.randint(modules, (population, layers, active), generator=generator)


def mutated(path: Tensor, modules: int, generator: torch.Generator) -> Tensor:
    """Return a copy of a path (L, N), each gene mutated with probability 1 / (L N).

    A mutated gene moves by a whole number from -2 to 2 (0 is one of them), modulo M. Source:
    Fernando et al. 2017, section 2.
    """
    chosen = torch.rand(path.shape, generator=generator) * path.numel() < 1
    step = torch.randint(-_FARTHEST, _FARTHEST + 1, path.shape, generator=generator)
    return torch.where(chosen, (path + step) % modules, path)
