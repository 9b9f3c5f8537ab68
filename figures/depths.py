"""Lines of layers: their looks, dark for the first by depth and light for the last."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

import matplotlib
from matplotlib.axes import Axes

from figures import labels, lines
from figures.appearance import Appearance
from figures.pages.page import Page

MOST_NAMED = 10
"""Most layers that the legend names; of more, a color bar shows the depths."""


def layer_looks(layers: Iterable[tuple[int, str]]) -> dict[int, Appearance]:
    """Return the appearance of layers by depth; layers: the depth and the name of each.

    They have no label if there are too many for a legend, or if a depth has another name in another
    architecture.
    """
    each = sorted(set(layers))
    names = dict(each)
    few = len(names) <= MOST_NAMED
    named = few and len(names) == len(each)
    texts = labels.shortened(list(names.values())) if named else [""] * len(names)
    # The lightest shades of it are too faint on paper.
    shades = matplotlib.colormaps["viridis"]([0.88 * k / max(names) for k in range(max(names))])
    colors = [matplotlib.colors.to_hex(shades[depth - 1]) for depth in names]
    markers = cycle("osD^vPX" if few else [""])
    looks = zip(names, texts, colors, markers, strict=False)
    return {depth: Appearance(text, color, marker, "-") for depth, text, color, marker in looks}


def explain(
    page: Page,
    grid: Sequence[Axes],
    looks: Mapping[int, Appearance],
    title: str,
    more: Sequence[lines.Key] = (),
) -> None:
    """Explain the layers in a legend with more keys or, where they have no labels, by colors."""
    named = all(look.label for look in looks.values())
    page.legend([*(looks.values() if named else ()), *more], title)
    if not named:
        page.color_steps(grid, [look.color for look in looks.values()], "Layer, by depth")
