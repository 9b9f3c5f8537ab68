"""The checks for a GPU work: small, quick ones pass on the CPU."""

import pytest
import torch

from tests.gpu import check

QUICK = (check.mix_devices, check.use_caches, check.fit_and_compare, check.read_checkpoints)


@pytest.mark.parametrize("run", QUICK, ids=lambda run: run.__name__)
def test_a_check_passes_on_the_cpu(run):
    assert run(check.Settings(torch.device("cpu"), small=True))
