"""The tiny study of every learner: float64 throughout, always the same, and no learner another."""

from __future__ import annotations

import pytest
import torch

from scenarios.learners.base import Learner
from scenarios.learners.catalog import LEARNERS
from tests.scenarios.learners.tiny_study import Table, tiny_study

# All but the one that learns nothing.
KINDS = [kind for kind in LEARNERS if kind != "untrained"]


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[list[Table], Learner]]:
    return {kind: tiny_study(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_all_is_float64(kind: str, found: dict[str, tuple[list[Table], Learner]]) -> None:
    tables, own = found[kind]
    assert len(tables) == (2 if own.offline else 4)
    assert {sum(map(sum, table)) for table in tables} == {6 * 16}
    tensors = [*own.model.state_dict().values(), *own.state().values()]
    assert {each.dtype for each in tensors if each.is_floating_point()} == {torch.float64}


def test_no_two_learners_have_the_same_counts(
    found: dict[str, tuple[list[Table], Learner]],
) -> None:
    counts = {kind: tables for kind, (tables, _) in found.items()}
    assert not {(a, b) for a in counts for b in counts if a < b and counts[a] == counts[b]}
    # Each has learned something: 16 of 96 are chance, or all of a class alone.
    assert min(sum(table[1][k][k] for k in range(6)) for table in counts.values()) > 20
