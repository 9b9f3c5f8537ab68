"""Faults planted by strangers in networks of their own: the kind of change, and the block."""

import pytest
import torch

from tests.laws.pairs import WORLDS, compared, guilty_block, pairs_of

KINDS = {
    "fault": "fault",
    "statistics": "norm statistics",
    "attribute": "attribute",
    "renamed": "renamed outputs",
    "domain": "new domain",
    "classes": "new classes",
}
QUICK = ("regression",)


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(name, marks=[] if name in QUICK else pytest.mark.soak)
        for name in WORLDS
    ],
)
def test_the_kind_is_told_and_the_guilty_block_is_among_the_first_three(world):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        pairs = list(pairs_of(world))
    for pair in pairs:
        result = compared(pair)
        assert result.answer.kind == KINDS[pair.kind], pair.name
        first = [line.block.partition(" (")[0] for line in result.answer.blocks[:3]]
        assert not pair.guilty or guilty_block(result, pair) in first, pair.name
