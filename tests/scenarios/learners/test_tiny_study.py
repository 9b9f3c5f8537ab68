"""The tiny study of every learner: float64 throughout, always the same, and no learner another."""

from __future__ import annotations

import pytest
import torch

from scenarios.learners.catalog import LEARNERS
from tests.scenarios.learners.tiny_study import Table, tiny_counts, tiny_study

# All but the one that learns nothing.
KINDS = [kind for kind in LEARNERS if kind != "untrained"]


@pytest.fixture(scope="module")
def found() -> dict[str, list[Table]]:
    return {kind: tiny_counts(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_the_same_each_time_and_all_is_float64(
    kind: str, found: dict[str, list[Table]]
) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(1)  # what a learner draws is its own
        tables, own = tiny_study(kind)
    assert tables == found[kind]
    assert len(tables) == (2 if own.offline else 4)
    assert {sum(map(sum, table)) for table in tables} == {6 * 16}
    tensors = [*own.model.state_dict().values(), *own.state().values()]
    kinds = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
    assert kinds == {torch.float64}


def test_no_two_learners_have_the_same_counts(found: dict[str, list[Table]]) -> None:
    twins = {(a, b) for a in found for b in found if a < b and found[a] == found[b]}
    assert not twins
    # Each has learned something: 16 of 96 are chance, or all of a class alone.
    assert min(sum(table[1][k][k] for k in range(6)) for table in found.values()) > 20
