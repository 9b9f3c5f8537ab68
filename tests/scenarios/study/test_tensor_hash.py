"""The hash of tensors: all that they hold, and not how they lie in memory."""

import pytest
import torch

from scenarios.study.store import tensor_hash

STATE = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([[1], [2]])}


@pytest.mark.parametrize(
    "other",
    [
        {**STATE, "a": torch.tensor([1.0, 2.0], dtype=torch.float64)},
        {**STATE, "a": STATE["a"].view(torch.int32)},
        {**STATE, "a": torch.tensor([[1.0, 2.0]])},
        {**STATE, "b": torch.tensor([[1, 2]])},
        {**STATE, "a": torch.tensor([1.0, 2.0]).nextafter(torch.tensor(9.0))},
        {**STATE, "a": torch.tensor([2.0, 1.0])},
        {**STATE, "c": torch.tensor([])},
        {"a": STATE["a"]},
        {"a": STATE["b"], "b": STATE["a"]},
        {"a": STATE["a"], "c": STATE["b"]},
    ],
)
def test_the_hash_of_tensors_tells_names_types_shapes_and_every_bit(other):
    assert tensor_hash(other) != tensor_hash(STATE)


def test_the_hash_of_tensors_does_not_tell_how_they_lie_in_memory():
    column = torch.tensor([[1, 0], [2, 0]])[:, :1]
    assert not column.is_contiguous()
    shuffled = {"b": column, "a": STATE["a"].clone().requires_grad_()}
    assert tensor_hash(shuffled) == tensor_hash(STATE)
    zeros = {"x": torch.tensor([0.0]), "y": torch.tensor(True), "z": torch.tensor([])}
    assert tensor_hash({**zeros, "x": torch.tensor([-0.0])}) != tensor_hash(zeros)
