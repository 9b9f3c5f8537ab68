"""Measurements as JSON: any counts and costs read back, and nothing else is believed."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from probe.by_layer.measurement import Measurement
from probe.by_layer.store import Store
from probe.files import hashed, unhashed
from probe.metrics.counts import Counts
from tests.scenarios.study.toy import COST, COUNTS, MEASURED

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
    record = json.loads(json.dumps(Measurement(counts=by_head).to_record()))
    measured = Measurement.of_record(record)
    assert measured == Measurement(counts=by_head)
    types = {counts.table.dtype for own in measured.counts.values() for counts in own}
    assert types == {np.dtype(np.int64)}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, "er.order-0.seed-0", {})


def read_back(store, part="step-1", **changes):
    """Write a measurement; change its record under the hash that it would have, and read it."""
    store.write(part, MEASURED)
    path = store.folder / f"{part}.json"
    record = json.loads(unhashed(path.read_bytes()))
    path.write_bytes(hashed(json.dumps({**record, **changes}).encode()))
    held, measured = part in store.contents().finished, store.read(part)
    assert held == (measured is not None)
    assert path.exists() == held
    return measured


SINGLE = {"shape": [1, 2, 2], "kind": "<u2", "cells": "AgEDAAAAAQA="}
NO_COUNTS = [
    *([[1]], 3, None, "multi", {}, ["multi"], [["multi", 1]]),
    *({"multi": own} for own in ([[1]], [[[-1]]], {}, {"shape": [1]}, None, 3, "x")),
    *(
        {"multi": {**SINGLE, **changes}}
        for changes in (
            *({"kind": kind} for kind in ("<f2", "<i8", None)),
            *({"shape": shape} for shape in ([1, 4, 1], [2, 2], [1, 2, 3], None)),
            *({"cells": cells} for cells in ("AgEDAAAAAQA", "", None, "AgEDAAAAAQA=!")),
            *({"cells": cells, "shape": [0, 2, 2]} for cells in ("", "!")),
            {"kind": "<i8", "shape": [1, 1, 1], "cells": base64.b64encode(b"\xff" * 8).decode()},
        )
    ),
]
NOT_SPENT = [
    *({}, 3, {"cost": {"ops": 1}, "seconds": 1.0}),
    *(
        {"cost": {**asdict(COST), "ops": ops}, "seconds": 1.0}
        for ops in ("1", 10**400, 2**63, -1, 1.0, True, None)
    ),
    *(
        {"cost": asdict(COST), "seconds": seconds}
        for seconds in ("1.0", -0.5, 10**400, float("nan"), True)
    ),
]


def test_what_cannot_have_been_measured_is_set_aside(store):
    most = {"cost": {**asdict(COST), "ops": 2**63 - 1, "stored_bytes": 0}, "seconds": 0.0}
    assert read_back(store, counts={"multi": SINGLE}, spent=most) is not None
    assert read_back(store, spent=None).spent is None
    cases = [{"counts": each} for each in NO_COUNTS] + [{"spent": each} for each in NOT_SPENT]
    for k, changes in enumerate(cases):
        own = Store(store.root, f"job-{k}", {})
        assert read_back(own, **changes) is None, changes


@pytest.mark.parametrize(
    ("part", "heads", "whole"),
    [
        ("step-1", HEADS, True),
        ("step-1", ("multi",), True),
        ("step-1", ("single",), False),
        ("step-1", ("multi", "all"), False),
        ("step-1", (*HEADS, "none"), False),
        ("feature-conv1", ("single",), True),
        ("feature-conv1", ("multi",), False),
        ("feature-conv1", HEADS, False),
    ],
)
def test_a_part_has_the_heads_that_it_was_measured_under(store, part, heads, whole):
    """Those of a step, of one by a learner that is told the task, and of a retrained model."""
    store.write(part, Measurement(counts=dict.fromkeys(heads, COUNTS["single"])))
    assert (part in store.contents().finished) == whole
    assert (store.read(part) is not None) == whole


FEATURE = Measurement(counts={"single": COUNTS["single"]})


def test_notes_read_back_and_without_any_there_is_no_key(store):
    noted = replace(FEATURE, notes=("it predicts class 3 for every test example", "ä\n"))
    store.write("feature-conv1", noted)
    assert store.read("feature-conv1") == noted
    # The files of versions that knew none are the same.
    assert list(FEATURE.to_record()) == list(MEASURED.to_record()) == ["counts", "spent"]


@pytest.mark.parametrize(
    "notes", [None, "a note", {}, [], ["a", None], [""], ["\ud800"], ["x" * 10_001]]
)
def test_what_are_no_notes_is_set_aside(store, notes):
    assert read_back(store, notes=["x" * 10_000]).notes == ("x" * 10_000,)
    assert read_back(store, notes=notes) is None
