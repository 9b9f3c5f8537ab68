"""The figure of redundancy: what is drawn is what is in the tables."""

import numpy as np

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
    table("mnist", 78, 39),
    table("cub200", 1204, 300, "10 bins of equal width"),
    table("c", 8, 1),
]


def test_each_panel_is_its_matrix_on_one_scale_on_which_a_quarter_is_half_way():
    figure = draw(TABLES)
    for axes, one in zip(seen.titled(figure), TABLES, strict=True):
        (image,) = axes.images
        assert (np.asarray(image.get_array()) == one.between.round(4)).all()
        D = len(one.bins)
        assert image.get_extent() == [-0.5, D - 0.5, D - 0.5, -0.5]
        assert image.norm([0, 0.25, 1]).tolist() == [0, 0.5, 1]
    assert [axes.get_title().replace("\n", " ") for axes in seen.titled(figure)] == [
        "mnist 39 of 78 non-redundant (50.0 %)",
        "cub200 300 of 1,204 non-redundant (24.9 %)",
        "c 1 of 8 non-redundant (12.5 %)",
    ]
    (bar,) = (axes for axes in figure.axes if not axes.get_title())
    assert (
        bar.get_xlabel() == "Symmetric uncertainty (MDL cuts, 10 bins of equal width)"
    )
