"""The page of a comparison of two networks: the answer, a picture of the remedies, the tables.

Like the page of a run, it needs no network access. It has no script, and nothing may
run in it.
"""

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from figures.remedies import draw_remedies, score_unit
from figures.report.page import file, template
from figures.style import house_style
from probe.errors import printable
from probe.files import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from probe.before_after.result import Diff


def pair_report(diff: "Diff", path: str | Path) -> Path:
    """Write the page of a comparison to a file; return its path.

    Args:
        diff: The comparison.
        path: The path of the file.

    Raises:
        NotWritten: The file cannot be written.
    """
    answer = diff.answer
    unit = score_unit(answer.score)
    axes = draw_remedies(diff.remedies, unit=unit, is_accuracy=answer.is_accuracy)
    page = template("pair.html").render(
        answer=answer,
        unit=unit,
        picture=Markup(_svg(axes)),
        tables=diff.to_dict(),
        style=Markup(file("page.css")),
    )
    write_text(Path(path), printable(page, "\n"))
    return Path(path)


def _svg(axes: "Axes") -> str:
    """Return a figure as an SVG element."""
    buffer = StringIO()
    with house_style():
        axes.figure.canvas.print_figure(
            buffer,
            format="svg",
            metadata={"Date": None},
        )
    _, start, rest = buffer.getvalue().partition("<svg")
    return start + rest
