"""PathNet's search: legal paths, tournaments, and the law of mutation."""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats
from torch import Tensor

from probe.seeding import stream
from scenarios.learners.kemker.pathnet import mutated, random_paths, search_path

L, N, M = 2, 5, 10
Genes = tuple[int, ...]


def genes(path: Tensor) -> Genes:
    return tuple(path.flatten().tolist())


class Judge:
    """Notes every path that is evaluated; its fitness is the sum of its genes, or another."""

    def __init__(self) -> None:
        self.seen: list[Tensor] = []

    def __call__(self, path: Tensor) -> float:
        self.seen.append(path)
        return float(path.sum())


def searched(generations: int, population: int = 16, seed: int = 0) -> tuple[Tensor, Judge, Tensor]:
    draw, judge = stream(seed, "search"), Judge()
    paths = random_paths(population, L, N, M, draw)
    return search_path(judge, paths, M, generations, draw), judge, paths


def test_only_legal_paths_are_evaluated_two_in_each_tournament() -> None:
    best, judge, _ = searched(300)
    assert len(judge.seen) == 600
    for path in [*judge.seen, best]:
        assert path.shape == (L, N)
        assert path.dtype == torch.int64
        assert 0 <= int(path.min()) <= int(path.max()) < M


def test_the_fittest_of_all_that_were_evaluated_is_found() -> None:
    """Where a path's fitness does not change, the best of them never loses a tournament."""
    for seed in range(5):
        best, judge, _ = searched(100, seed=seed)
        assert int(best.sum()) == max(int(path.sum()) for path in judge.seen)


def test_a_tournament_by_hand() -> None:
    """The loser of two becomes a copy of the winner, mutated; of equals the first one wins."""
    paths, draw = torch.tensor([[[0]], [[7]]]), stream(0, "search")
    judge = Judge()
    # A path of one gene always mutates: what is met next is the winner and its copy.
    assert search_path(judge, paths, M, 1, draw).item() == 7
    assert sorted(map(genes, judge.seen)) == [(0,), (7,)]
    assert paths.tolist() == [[[0]], [[7]]]
    judge = Judge()
    search_path(judge, paths, M, 2, draw)
    first, second = judge.seen[:2], judge.seen[2:]
    assert sorted(map(genes, first)) == [(0,), (7,)]
    assert (7,) in map(genes, second)
    assert max(abs(path.item() - 7) for path in second) <= 2
    equal: list[Genes] = []
    best = search_path(lambda path: equal.append(genes(path)) or 1.0, paths, M, 1, draw)
    assert genes(best) == equal[0]


def moves(trials: int = 4000) -> Tensor:
    """How far each gene moved, (trials, L, N), by the shorter way round."""
    draw = stream(0, "mutation")
    path = random_paths(1, L, N, M, draw)[0]
    after = torch.stack([mutated(path, M, draw) for _ in range(trials)])
    assert 0 <= int(after.min()) <= int(after.max()) < M
    return (after - path + M // 2) % M - M // 2


def test_the_number_of_mutated_genes_is_binomial() -> None:
    """Each with probability 1 / (L N), of which one in five moves by 0."""
    counts = (moves() != 0).sum((1, 2)).bincount(minlength=5)
    law = stats.binom(L * N, 0.8 / (L * N))
    expected = [law.pmf(k) for k in range(4)]
    expected.append(1 - math.fsum(expected))
    got = [*counts[:4].tolist(), int(counts[4:].sum())]
    assert stats.chisquare(got, [sum(got) * p for p in expected]).pvalue > 0.01
    wrong = stats.binom(L * N, 1 / (L * N))  # the negative control: 0 not among the moves
    others = [wrong.pmf(k) for k in range(4)]
    others.append(1 - math.fsum(others))
    assert stats.chisquare(got, [sum(got) * p for p in others]).pvalue < 1e-6


@pytest.mark.parametrize("gene", [0, 9])
def test_a_mutation_goes_round(gene: int) -> None:
    draw = stream(0, "round")
    met = {int(mutated(torch.tensor([[gene]]), M, draw)) for _ in range(200)}
    assert met == {(gene + step) % M for step in range(-2, 3)}
