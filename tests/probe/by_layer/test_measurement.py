"""Measurements as JSON: any counts and costs read back, and nothing else is believed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from probe.by_layer.measurement import Measurement
from probe.metrics.counts import Counts
from tests.scenarios.study.toy import MEASURED, RIGHT

HEADS = ("single", "multi", "all")
# The most that each kind of cell holds, and one more.
most = st.sampled_from([0, 1, 255, 256, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**63 - 1])


@st.composite
def tables(draw):
    n, classes, largest = draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(most)
    cells = draw(arrays(np.int64, (n, classes, classes), elements=st.integers(0, largest)))
    cells[0, 0, 0] = largest
    return tuple(map(Counts, cells))


def heads(*names):
    return st.fixed_dictionaries(dict.fromkeys(names, tables()))


@given(by_head=st.one_of(heads(*HEADS), heads("multi")))
def test_any_counts_read_back(by_head):
    record = json.loads(json.dumps(Measurement(counts=by_head, right=RIGHT).to_record()))
    measured = Measurement.of_record(record)
    assert measured == Measurement(counts=by_head, right=RIGHT)
    types = {counts.table.dtype for own in measured.counts.values() for counts in own}
    assert types == {np.dtype(np.int64)}


def test_notes_read_back_and_without_any_there_is_no_key():
    noted = replace(MEASURED, notes=("it predicts class 3 for every test example", "ä\n"))
    assert Measurement.of_record(json.loads(json.dumps(noted.to_record()))) == noted
    # The files of versions that knew none are the same.
    assert list(MEASURED.to_record()) == ["counts", "spent", "right"]
