"""Fingerprints of stored results, and hashes of tensors; see `tests/laws/test_keys.py`."""

import pytest
import torch

from probe.batch import tensor_hash
from probe.by_layer.fingerprint import fingerprint
from probe.by_layer.jobs import jobs_of
from tests.scenarios.study.toy import made_plan, record_of

PINNED = {
    "finetune.order-0.seed-0": (
        "ffdb78ee4d081288952e3c0ec4ff2eabc26421f7bae0c42ccdec60de240770ed"
    ),
    "er.order-1.seed-0": (
        "96e9b10ee9391826fc104971ba2659373149ba6911350fb258f58fd70b53c771"
    ),
}


def test_fingerprints_of_stored_results_stay():
    """Computed by the code of version 7 of our results, with another number for the version."""
    plan = made_plan().model_copy(update={"data": "d", "torch": "t"})
    for version, same in ((1, True), (2, False)):
        found = {
            job.name: fingerprint({**record_of(plan, job), "version": version})
            for job in jobs_of(plan)
        }
        assert ({name: found[name] for name in PINNED} == PINNED) == same


STATE = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([[1], [2]])}


@pytest.mark.parametrize(
    "other",
    [
        {**STATE, "a": torch.tensor([1.0, 2.0], dtype=torch.float64)},
        {**STATE, "b": torch.tensor([[1, 2]])},
        {**STATE, "a": torch.tensor([1.0, 2.0]).nextafter(torch.tensor(9.0))},
        {**STATE, "c": torch.tensor([])},
        {"a": STATE["b"], "b": STATE["a"]},
        {"a": STATE["a"], "c": STATE["b"]},
    ],
)
def test_the_hash_of_tensors_tells_names_types_shapes_and_every_bit(other):
    assert tensor_hash(other) != tensor_hash(STATE)


def test_the_hash_of_tensors_does_not_tell_their_layout_in_memory():
    column = torch.tensor([[1, 0], [2, 0]])[:, :1]
    assert not column.is_contiguous()
    shuffled = {"b": column, "a": STATE["a"].clone().requires_grad_()}
    assert tensor_hash(shuffled) == tensor_hash(STATE)
    assert tensor_hash({"x": torch.tensor([-0.0])}) != tensor_hash(
        {"x": torch.tensor([0.0])}
    )
