"""Symmetric uncertainty of every two features of data sets, one panel per data set.

After Kemker et al. 2018, figure S4. Bright spots off the diagonal are features that say
the same. In a data set with few of them, every feature adds something. This is no
figure of a study: `probe redundancy` draws it.
"""

from collections.abc import Sequence

from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from figures import captions, layout, style
from figures.heatmaps import strip
from figures.page import Page
from probe.redundancy.table import Redundancy

MOST_ACROSS = 3
"""Most data sets side by side."""


@style.house_style()
def draw(tables: Sequence[Redundancy]) -> Figure:
    """Draw the SU matrix of each data set as a heat map, with one color bar for all.

    Features are numbered from 0; the first is at the top left. Bright means redundant;
    colors follow the square root of SU, as most values are small. A feature with a
    single bin is dark on the diagonal, too. Each title gives the number of
    non-redundant features.
    """
    columns = layout.balanced(len(tables), MOST_ACROSS)
    side = {1: 2.5, 2: 2.6, 3: 1.7}[columns]  # inches of a panel, by columns
    methods = dict.fromkeys(table.discretization for table in tables)
    # The number of non-redundant features is on two lines where panels are narrow.
    gap = "\n" if columns == MOST_ACROSS else " "
    titles = [
        f"{captions.folded(table.data)}\n{len(table.selected)} of {len(table.bins):,} "
        f"non-redundant{gap}({100 * len(table.selected) / len(table.bins):.1f} %)"
        for table in tables
    ]
    page = Page()
    grid = page.panels(titles, MOST_ACROSS, share_y=False, fold=False)
    page.figure.set_layout_engine("constrained", hspace=0.06)
    for axes, table in zip(grid, tables, strict=True):
        # An image, not a mesh: in a vector file a mesh of D x D cells takes hundreds of
        # megabytes.
        between = table.between.round(4)  # as the table has it
        image = axes.imshow(
            between,
            cmap="viridis",
            norm=PowerNorm(0.5, vmin=0, vmax=1),
        )
        ticks = layout.ticks(0, len(table.bins) - 1)
        axes.set(xticks=ticks, yticks=ticks)
        strip(axes, ticks=2)
    label = f"Symmetric uncertainty ({', '.join(methods)})"
    size = (side * columns, side * len(grid) / columns)
    page.color_bar(image, label, [0, 0.05, 0.2, 0.5, 1], grid, size)
    return page.fit(grid, ("Feature", "Feature"), height=side, width=side)
