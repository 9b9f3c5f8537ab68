"""The best renaming against all of them, and on networks whose outputs are permuted."""

import re
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from probe.errors import NotMeasured
from probe.metrics.counts import Counts
from probe.metrics.renaming import renamed_accuracy, renaming_notes

pairs = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40
)


@given(pairs)
def test_it_is_the_best_of_all_renamings(pairs):
    true, predicted = np.array(pairs).T
    best = max(
        np.mean(np.array(names)[predicted] == true) for names in permutations(range(4))
    )
    assert renamed_accuracy(Counts.of(true, predicted, 4)) == pytest.approx(best)


@given(pairs, st.permutations(range(4)))
def test_it_is_the_same_for_permuted_outputs_and_at_least_the_accuracy(pairs, names):
    true, predicted = np.array(pairs).T
    counts = Counts.of(true, predicted, 4)
    permuted = Counts.of(true, np.array(names)[predicted], 4)
    assert renamed_accuracy(permuted) == renamed_accuracy(counts) >= counts.accuracy()


def test_without_examples_there_is_none():
    with pytest.raises(NotMeasured):
        renamed_accuracy(Counts(np.zeros((2, 2), dtype=int)))


def test_a_renaming_is_noted_where_it_undoes_most_errors_and_nowhere_else():
    draw = np.random.default_rng(0)
    labels = np.arange(400) % 10
    some = draw.random(400) < 0.2
    noisy = np.where(some, draw.integers(10, size=400), (labels + 3) % 10)
    [note] = renaming_notes(noisy, labels)
    assert re.search(r"is 1\.\d %, and 8\d\.\d %", note)
    forgetful = np.where(
        labels < 8, 8 + labels % 2, labels
    )  # what fine-tuning predicts
    for predicted in (labels, forgetful, draw.integers(10, size=400), np.full(400, 9)):
        assert not renaming_notes(predicted, labels)
    assert not renaming_notes(draw.integers(10, size=40), labels[:40])
