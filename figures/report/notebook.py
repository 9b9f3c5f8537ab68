"""The first screen of a report as a piece of HTML for notebooks: no script, and no style of others.

All of its style stands in its elements, as notebooks keep no other; texts have the color of the
notebook's own, and cells one that can be read on theirs, so that it serves light and dark ones.
"""

import re
from collections.abc import Sequence

from markupsafe import Markup

from figures.report.answer import answers
from figures.report.page import file, template
from figures.report.section import label
from figures.report.sections import missing
from probe.tables.folder import Tables
from probe.tables.matrices import Matrices


def first_screen(tables: Tables, sheets: str, notes: Sequence[str]) -> str:
    """Return the answers with their caveats and the heat maps; sheets (HTML) and notes folded.

    The maps are of the readouts of the answers; without answers, of all.
    """
    said = answers(tables)
    readouts = {one.readout for one in said}
    shown = missing(tables, Matrices(tables.get("measurements", ()))).shown
    maps = [one for one in shown if not readouts or one.readout in readouts]
    return template("notebook.html").render(
        answers=said,
        maps=maps,
        barred=any(cell.barred for one in maps for row in one.view.cells for cell in row),
        colors=_colors(),
        label=label,
        notes=notes,
        sheets=Markup(sheets),
    )


def _colors() -> dict[int, str]:
    """Return the page's colors in the light, by tone."""
    light = file("page.css").split("}")[0]
    found = re.findall(r"--([np])(\d):(#\w+)", light)
    return {0: "#fff"} | {int(k) * (1 if side == "p" else -1): c for side, k, c in found}
