"""The checks for a GPU work: small, quick ones pass on the CPU."""

import pytest
import torch

from tests.gpu import check

LONG = {"compare_with_cpu", "repeat", "probe_resnet", "run_two_workers", "run_ray", "copy_batches"}
QUICK = [one for one in check.CHECKS if one.__name__ not in LONG]


@pytest.mark.parametrize("run", QUICK, ids=lambda run: run.__name__)
def test_a_check_passes_on_the_cpu(run):
    assert run(check.Settings(torch.device("cpu"), small=True))
