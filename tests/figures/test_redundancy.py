"""The figure of redundancy: what is drawn is what is in the tables."""

import numpy as np
import pytest

from figures.redundancy import draw
from probe.redundancy.table import Redundancy
from tests.figures import seen


def table(data, D, selected, discretization="MDL cuts"):
    values = np.random.default_rng(D).random((D, 1))
    return Redundancy(
        data=data,
        discretization=discretization,
        bins=np.full(D, 2),
        with_class=values[:, 0],
        between=values * values.T,
        selected=range(selected),
    )


TABLES = [
    table("mnist", 784, 39),
    table("cub200", 2048, 450, "10 bins of equal width"),
    table("c", 8, 1),
]


@pytest.fixture(scope="module")
def figure():
    return draw(TABLES)


def test_each_panel_is_its_matrix_on_one_scale_on_which_a_quarter_is_half_way(figure):
    for axes, one in zip(seen.titled(figure), TABLES, strict=True):
        (image,) = axes.images
        assert (np.asarray(image.get_array()) == one.between).all()
        D = len(one.bins)
        assert image.get_extent() == [-0.5, D - 0.5, D - 0.5, -0.5]
        assert axes.get_ylim() == (D - 0.5, -0.5)
        assert axes.get_aspect() == 1
        assert image.get_clim() == (0, 1)
        assert image.norm([0, 0.25, 1]).tolist() == [0, 0.5, 1]
        grey = image.cmap(np.linspace(0, 1, 64))[:, :3] @ [0.2126, 0.7152, 0.0722]
        assert (np.diff(grey) > 0).all()  # brighter and brighter, also without its hues
    assert [axes.get_title().replace("\n", " ") for axes in seen.titled(figure)] == [
        "mnist 39 of 784 non-redundant (5.0 %)",
        "cub200 450 of 2,048 non-redundant (22.0 %)",
        "c 1 of 8 non-redundant (12.5 %)",
    ]
    (bar,) = (axes for axes in figure.axes if not axes.get_title())
    assert bar.get_xlabel() == "Symmetric uncertainty (MDL cuts, 10 bins of equal width)"
