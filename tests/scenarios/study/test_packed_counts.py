"""Counts as the files of parts hold them: any tables read back, and nothing else is believed."""

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scenarios.study.sealing import sealed

from probe.metrics.counts import Counts
from scenarios.study.store import Measurement, Store

JOB, PART = "er.order-0.seed-0", "step-1"
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
def test_any_counts_read_back(tmp_path_factory, by_head):
    store = Store(tmp_path_factory.mktemp("run"), "identity")
    store.write(JOB, PART, Measurement(counts=by_head))
    measured = store.read(JOB, PART)
    assert measured == Measurement(counts=by_head)
    assert {counts.table.dtype for own in measured.counts.values() for counts in own} == {
        np.dtype(np.int64)
    }


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, "identity")
    tables = (Counts(np.array([[258, 3], [0, 1]])),)
    store.write(JOB, PART, Measurement(counts=dict.fromkeys(HEADS, tables)))
    return store


def record(store):
    return json.loads((store.root / "jobs" / JOB / f"{PART}.json").read_bytes())


def replaced(store, **changes):
    """Change what is said of the counts and seal the file again, as if it had been so written."""
    changed = record(store)
    del changed["sha256"]
    changed["counts"]["single"] |= changes
    path = store.root / "jobs" / JOB / f"{PART}.json"
    path.write_bytes(sealed(json.dumps(changed).encode()))
    return store.read(JOB, PART)


def test_the_cells_lie_row_by_row_in_little_endian(store):
    cells = record(store)["counts"]["single"]
    assert base64.b64decode(cells.pop("cells")) == bytes([2, 1, 3, 0, 0, 0, 1, 0])
    assert cells == {"shape": [1, 2, 2], "kind": "<u2"}


def test_what_is_sealed_again_unchanged_is_believed(store):
    assert replaced(store, kind="<u2") == store.read(JOB, PART) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "<f2"},
        {"kind": "O"},
        {"kind": "<i8"},
        {"kind": None},
        {"shape": [1, 4, 1]},
        {"shape": [2, 2]},
        {"shape": [0, 2, 2]},
        {"shape": [1, 2, 3]},
        {"shape": None},
        {"shape": "1"},
        {"cells": "AgEDAAAAAQA"},
        {"cells": ""},
        {"cells": "", "shape": [0, 2, 2]},
        {"cells": None},
        {"cells": "é"},
        {"cells": "AgEDAAAAAQA=!"},
        {"cells": "!", "shape": [0, 2, 2]},
        {"cells": [1, 2]},
        {"kind": "<i8", "shape": [1, 1, 1], "cells": base64.b64encode(b"\xff" * 8).decode()},
    ],
)
def test_what_are_no_counts_is_set_aside(store, changes):
    assert replaced(store, **changes) is None
    assert (store.root / "quarantine" / f"{JOB}.{PART}.json").exists()
