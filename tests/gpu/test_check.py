"""The checks for a GPU work: small, quick ones pass on the CPU."""

import pytest
import torch

from tests.gpu import check

LONG = {"compare_with_cpu", "repeat", "probe_resnet", "run_two_workers", "run_ray"}
MARKS = {"copy_batches": pytest.mark.soak}
QUICK = [
    pytest.param(one, marks=MARKS.get(one.__name__, ()), id=one.__name__)
    for one in check.CHECKS
    if one.__name__ not in LONG
]


@pytest.mark.parametrize("run", QUICK)
def test_a_check_passes_on_the_cpu(run):
    assert run(check.Settings(torch.device("cpu"), small=True))
