"""How wide values become rows: averages over positions as torch's, and a fixed projection."""

import pytest
import torch
from torch.nn.functional import adaptive_avg_pool2d

from probe.readouts.pooling import Layout, Pooling, layout_of

BINS, MEAN, PROJECTION = (
    Pooling(pool=each, width=1024) for each in ("bins", "mean", "projection")
)
CASES = {
    # shape, channels, pooling: bins, width
    ((128,), None, BINS): ((), 128),
    ((2000,), 0, MEAN): ((), 2000),
    ((16, 8, 8), None, MEAN): ((), 1024),
    ((16, 8, 9), None, MEAN): ((), 1024),
    ((4, 3, 300), 0, BINS): ((3, 85), 1020),
    ((65, 192), 1, BINS): ((5,), 960),
    ((65, 192), 0, BINS): ((15,), 975),
    ((65, 192), 1, MEAN): ((1,), 192),
    ((8, 4, 14, 14), 0, BINS): ((4, 5, 5), 800),
    ((2, 8, 4, 14, 14), 1, BINS): ((1, 1, 1, 1), 8),
    ((513, 7, 7), 0, Pooling()): ((1, 1), 513),
    ((65, 192), None, MEAN): ((), 1024),
    ((65, 192), 1, PROJECTION): ((), 1024),
}


@pytest.mark.parametrize(("shape", "channels", "pooling"), CASES)
def test_the_axis_and_the_pooling_decide(
    shape,
    channels,
    pooling,
):
    layout = layout_of(shape, channels, pooling)
    assert (layout.bins, layout.width) == CASES[shape, channels, pooling]
    assert f"{layout.width} values" in layout.description
    value = torch.rand(2, *shape)
    rows = layout.rows(value)
    assert rows.shape == (2, layout.width)
    fits = value[0].numel() <= pooling.width
    assert torch.equal(rows, value.flatten(1)) == (fits or layout.width == 2000)


def test_values_are_averaged_as_torch_does_in_either_layout():
    value = torch.randn(3, 32, 14, 14)
    expected = adaptive_avg_pool2d(value, 4).flatten(1)
    torch.testing.assert_close(
        layout_of((32, 14, 14), 0, Pooling()).rows(value), expected
    )
    last = value.permute(0, 2, 3, 1).contiguous()
    torch.testing.assert_close(
        layout_of((14, 14, 32), 2, Pooling()).rows(last), expected
    )


def test_a_projection_is_fixed_and_adds_every_number_to_one_with_a_sign():
    layout = Layout(shape=(40, 30), projected=512)
    value = torch.randn(5, 40, 30)
    matrix = layout.rows(torch.eye(1200).reshape(1200, 40, 30))
    assert set(matrix.abs().sum(0).tolist()) == {2.0, 3.0}
    assert abs(float(matrix.sum())) < 150
    torch.testing.assert_close(layout.rows(value), value.flatten(1) @ matrix)
