"""The figure of redundancy: what is drawn is what is in the tables."""

import numpy as np
import pytest

from figures import style
from figures.kinds.redundancy import draw
from probe.redundancy.table import Redundancy


def table(data, D, selected, discretization="MDL cuts"):
    values = np.random.default_rng(D).random((D, D))
    return Redundancy(
        data=data,
        discretization=discretization,
        bins=np.full(D, 2),
        with_class=values[0],
        between=(values + values.T) / 2,
        selected=range(selected),
    )


def panels(figure):
    return [axes for axes in figure.axes if axes.get_title()]


def test_each_panel_is_its_matrix_with_the_first_feature_at_the_top_left():
    tables = [table("mnist", 12, 3), table("digits", 5, 2)]
    drawn = panels(draw(tables))
    for axes, one in zip(drawn, tables, strict=True):
        (image,) = axes.images
        assert (np.asarray(image.get_array()) == one.between).all()
        D = len(one.bins)
        assert image.get_extent() == [-0.5, D - 0.5, D - 0.5, -0.5]
        assert axes.get_ylim() == (D - 0.5, -0.5)
        assert axes.get_aspect() == 1


def test_titles_say_how_many_features_are_not_redundant():
    figure = draw([table("mnist", 784, 39), table("cub200", 2048, 450)])
    assert [axes.get_title() for axes in panels(figure)] == [
        "mnist\n39 of 784 non-redundant (5.0 %)",
        "cub200\n450 of 2,048 non-redundant (22.0 %)",
    ]


def test_all_share_one_scale_from_0_to_1_on_which_a_quarter_is_half_way():
    figure = draw([table("a", 4, 1), table("b", 6, 1), table("c", 8, 1)])
    for axes in panels(figure):
        (image,) = axes.images
        assert image.get_clim() == (0, 1)
        assert image.norm([0, 0.25, 1]).tolist() == [0, 0.5, 1]
        # Brighter and brighter, also without its hues.
        assert (
            np.diff(image.cmap(np.linspace(0, 1, 64))[:, :3] @ [0.2126, 0.7152, 0.0722]) > 0
        ).all()
    (bar,) = (axes for axes in figure.axes if not axes.get_title())
    assert bar.get_xlabel() == "Symmetric uncertainty (MDL cuts)"


def test_every_way_of_making_features_discrete_is_named_once():
    ways = ["MDL cuts", "10 bins of equal width", "MDL cuts"]
    figure = draw([table(str(k), 4, 1, way) for k, way in enumerate(ways)])
    (bar,) = (axes for axes in figure.axes if not axes.get_title())
    assert bar.get_xlabel() == "Symmetric uncertainty (MDL cuts, 10 bins of equal width)"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_no_text_is_lost_and_it_fits_on_a_page(count, text_faults):
    names = ["mnist", "spoken_digits", "cub200_features_of_resnet50", "digits", "audioset"]
    figure = draw([table(name, 2048, 450) for name in names[:count]])
    assert text_faults(figure) == []
    assert figure.get_figwidth() <= (style.SINGLE if count == 1 else style.DOUBLE)
