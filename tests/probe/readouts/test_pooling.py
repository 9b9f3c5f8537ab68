"""How wide values become rows: decided by their shape, and equal to plain averages."""

import pytest
import torch
from torch.nn.functional import adaptive_avg_pool2d

from probe.readouts.pooling import WIDE, layout_of

CASES = {
    # shape, wide: kind, grid, width
    ((128,), 1024): ("flattened", (1, 1), 128),
    ((), 1024): ("flattened", (1, 1), 1),
    ((16, 8, 8), 1024): ("flattened", (1, 1), 1024),
    ((32, 14, 14), 1024): ("channels first", (5, 5), 800),
    ((4, 3, 300), 1024): ("channels first", (3, 85), 1020),
    ((14, 14, 32), 1024): ("channels last", (5, 5), 800),
    ((20, 20, 20), 1024): ("channels first", (7, 7), 980),
    ((65, 192), 1024): ("sequence", (1, 1), 192),
    ((8, 4, 14, 14), 1024): ("channels first", (1, 1), 8),
    ((8, 8, 8), WIDE): ("flattened", (1, 1), 512),
    ((128, 4, 4), WIDE): ("channels first", (2, 2), 512),
    ((513, 7, 7), WIDE): ("channels first", (1, 1), 513),
}


@pytest.mark.parametrize(("shape", "wide"), CASES)
def test_the_shape_decides(shape, wide):
    layout = layout_of(shape, wide)
    assert (layout.kind, layout.grid, layout.width) == CASES[shape, wide]
    assert f"{layout.width} values" in layout.how
    assert layout.rows(torch.zeros(2, *shape)).shape == (2, layout.width)


def test_maps_are_averaged_as_torch_does_in_either_layout():
    value = torch.randn(3, 32, 14, 14)
    expected = adaptive_avg_pool2d(value, 4).flatten(1)
    torch.testing.assert_close(layout_of((32, 14, 14)).rows(value), expected)
    last = value.permute(0, 2, 3, 1).contiguous()
    torch.testing.assert_close(layout_of((14, 14, 32)).rows(last), expected)
