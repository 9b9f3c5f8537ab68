"""The first screen of a report as a piece of HTML for notebooks, without scripts and style sheets.

Notebooks drop style sheets, so all style is in the elements. Texts have the notebook's color, and
numbers one that is legible on their cell, so that light and dark themes both work.
"""

import re
from collections.abc import Sequence

from markupsafe import Markup

from figures.report.answer import answers
from figures.report.page import file, template
from figures.report.questions import missing
from figures.report.views import label
from probe.tables.matrices import Matrices
from probe.tables.schemas import Tables


def first_screen(tables: Tables, sheets: str, notes: Sequence[str]) -> str:
    """Show the answers with their caveats and the heat maps; sheets and notes are folded.

    The maps show the readouts of the answers, or all readouts if there are no answers.

    Args:
        tables: The tables of the result.
        sheets: The sheets as HTML.
        notes: The notes.

    Returns:
        The HTML.
    """
    answered = answers(tables)
    readouts = {answer.readout for answer in answered}
    figures = missing(tables, Matrices(tables["measurements"])).figures
    maps = [figure for figure in figures if not readouts or figure.readout in readouts]
    light = file("page.css").split("}")[0]
    colors = re.findall(r"--([np])(\d):(#\w+)", light)
    return template("notebook.html").render(
        answers=answered,
        maps=maps,
        barred=any(cell.barred for figure in maps for row in figure.view.cells for cell in row),
        colors={0: "#fff"} | {int(k) * (1 if side == "p" else -1): c for side, k, c in colors},
        label=label,
        notes=notes,
        sheets=Markup(sheets),
    )
