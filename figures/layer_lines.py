"""Lines of layers: their appearance, dark for the first by depth and light for the last."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

import matplotlib
from matplotlib.axes import Axes

from figures import captions, lines
from figures.appearance import Appearance
from figures.page import Page

MOST_NAMED = 10
"""Most layers that the legend names; of more, a color bar shows the depths."""


def layer_appearances(layers: Iterable[tuple[int, str]]) -> dict[int, Appearance]:
    """Return the appearance of layers, given by depth and name, by depth.

    They have no label if there are too many for a legend, or if a depth has another name in another
    architecture.
    """
    pairs = sorted(set(layers))
    names = dict(pairs)
    few = len(names) <= MOST_NAMED
    unique = few and len(names) == len(pairs)
    texts = captions.shortened(list(names.values())) if unique else [""] * len(names)
    # The lightest shades of it are too faint on paper.
    shades = matplotlib.colormaps["viridis"]([0.88 * k / max(names) for k in range(max(names))])
    markers = cycle("osD^vPX" if few else [""])
    return {
        depth: Appearance(text, matplotlib.colors.to_hex(shades[depth - 1]), marker, "-")
        for depth, text, marker in zip(names, texts, markers, strict=False)
    }


def explain_layers(
    page: Page,
    grid: Sequence[Axes],
    appearances: Mapping[int, Appearance],
    title: str,
    more: Sequence[lines.Key] = (),
) -> None:
    """Explain the layers in a legend or, if they have no labels, by a color bar.

    Args:
        page: The page that is drawn on.
        grid: The axes of its panels.
        appearances: The appearance of each layer, by depth.
        title: The title of the legend, or the label of the color bar.
        more: More keys of the legend.
    """
    labeled = all(appearance.label for appearance in appearances.values())
    page.legend([*(appearances.values() if labeled else ()), *more], title)
    if not labeled:
        colors = [appearance.color for appearance in appearances.values()]
        page.color_steps(grid, colors, "Layer, by depth")
