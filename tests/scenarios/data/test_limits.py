"""Fewer examples, a validation split (nothing of it is trained on), and standardised inputs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from probe.errors import InputError
from scenarios.data.datasets import (
    Location,
    held_out,
    limited,
    load,
    standardized,
)
from scenarios.study.scenario_spec import ScenarioSpec
from tests.scenarios.numbered_data import dataset, numbered, pairs


@given(labels=st.lists(st.integers(0, 3), min_size=1), limit=st.integers(1, 4))
def test_a_limit_keeps_the_first_of_each_class_in_their_order(labels, limit):
    kept = []
    seen = [0] * 4
    for number, label in enumerate(labels):
        seen[label] += 1
        if seen[label] <= limit:
            kept.append((float(number), label))
    data = dataset(4, labels, labels)
    first = limited(data, train=limit)
    second = limited(data, test=limit)
    assert pairs(first.train) == pairs(second.test) == kept
    assert (first.test, second.train) == (data.test, data.train)


def test_the_pixels_of_a_study_are_permuted_by_its_seed():
    raw = {"data": "digits", "kind": "permutation", "train_limit": 1, "sessions": 2}
    second = []
    for seed in (0, 3):
        spec = ScenarioSpec.model_validate(raw | {"permutation_seed": seed})
        second.append(spec.scenario(Location()).tasks[1].train.x)
    assert not torch.equal(*second)


@given(
    labels=st.permutations([0] * 4 + [1] * 5 + [2] * 7 + [0, 1, 2]),
    count=st.integers(1, 4),
)
def test_what_is_held_out_is_the_last_of_each_class_and_the_rest_is_trained_on(
    labels, count
):
    """Against a plain loop; both halves keep the order of the data. The test data are in none."""
    split = held_out(dataset(3, labels), count)
    kept = []
    held = []
    for number, pair in enumerate(pairs(numbered(labels))):
        after = sum(label == pair[1] for label in labels[number + 1 :])
        (held if after < count else kept).append(pair)
    assert (pairs(split.train), pairs(split.test)) == (kept, held)


def test_inputs_are_standardized_by_channel_over_the_training_images():
    """Against numpy; a constant channel becomes 0, and the test images have no say."""
    data = load("digits")
    halves = {}
    for name in ("train", "test"):
        half = getattr(data, name)
        x = torch.cat([half.x, 3 * half.x**2, torch.full_like(half.x, 5)], 1)
        halves[name] = replace(half, x=x)
    found = standardized(replace(data, **halves))
    known, test = (halves[name].x.double().numpy() for name in ("train", "test"))
    for k in (0, 1):
        mean = known[:, k].mean()
        deviation = known[:, k].std()
        np.testing.assert_allclose(
            found.test.x[:, k], (test[:, k] - mean) / deviation, atol=1e-5
        )
    assert not found.train.x[:, 2].any()
    assert not found.test.x[:, 2].any()
    with pytest.raises(InputError, match="standardize takes one float tensor"):
        standardized(replace(data, train=replace(data.train, x=(data.train.x,) * 2)))


def test_a_study_is_standardized_over_the_images_that_it_has():
    """With a limit, those are fewer."""
    raw = {"data": "digits", "train_limit": 3, "standardize": True}
    for held in ({}, {"validation": 2}):
        scenario = ScenarioSpec.model_validate(raw | held).scenario(Location())
        x = torch.cat([task.train.x for task in scenario.tasks])
        assert len(x) == 30
    assert float(x.mean()) == pytest.approx(0, abs=1e-5)
    assert float(x.std(correction=0)) == pytest.approx(1, abs=1e-5)
