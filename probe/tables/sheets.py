"""Tables of formatted cells: as plain text, as HTML for notebooks, and as LaTeX for papers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from probe.errors import printable
from probe.immutable import immutable
from probe.metrics.matrix import aligned


@immutable
class Sheet:
    """One table of formatted cells.

    Attributes:
        columns: The names of the columns.
        lines: The lines, each with one cell for each column.
        title: The title of the table; may be empty.
        after: Sentences below the table.
        of: The subject of the table, such as a learner, written before the title; may
            be empty.
    """

    columns: Sequence[str]
    lines: Sequence[Sequence[str]]
    title: str = ""
    after: Sequence[str] = ()
    of: str = ""

    @property
    def heading(self) -> str:
        """The line above the table."""
        return f"{self.of}, {self.title}" if self.of else self.title


def together(sheets: Sequence[Sheet]) -> Sheet:
    """Return sheets of the same columns as one, under all headings, with a column of methods."""
    if len(sheets) == 1:
        return sheets[0]
    return Sheet(
        title="; ".join(sheet.heading for sheet in sheets),
        columns=("method", *sheets[0].columns),
        lines=[(sheet.of, *line) for sheet in sheets for line in sheet.lines],
    )


def as_text(sheets: Iterable[Sheet], notes: Iterable[str]) -> str:
    """Return notes, and below them sheets in columns, as plain text.

    Args:
        sheets: The sheets.
        notes: The notes.

    Returns:
        The text.
    """
    lines = [f"note: {note}" for note in notes]
    for sheet in sheets:
        lines += ["", sheet.heading, *columns_of(sheet), *sheet.after]
    return printable("\n".join(lines).strip("\n"), "\n")


def as_html(sheets: Iterable[Sheet], notes: Iterable[str]) -> str:
    """Return sheets and notes as HTML for a notebook.

    Every text is escaped, nothing is loaded from elsewhere, and the colors are the
    page's, so that it can be read in light and dark themes.

    Args:
        sheets: The sheets.
        notes: The notes.

    Returns:
        The HTML.
    """
    said = "".join(f"<li>{escape(note)}</li>" for note in notes)
    parts = (
        [f"<details><summary>Notes</summary><ul>{said}</ul></details>"] if said else []
    )
    parts += [part for sheet in sheets for part in _html(sheet)]
    return printable(
        f'<div style="overflow-x:auto" tabindex="0">{"".join(parts)}</div>'
    )


def as_latex(sheet: Sheet) -> str:
    r"""Return a sheet as a `table` with the rules of the package booktabs, names escaped.

    Columns of numbers are aligned to the right. The sentences are comments above it.

    >>> print(as_latex(Sheet(title="in %", columns=["layer", "PRA"], lines=[["conv_1", "9.5"]])))
    % \usepackage{booktabs}
    \begin{table}
    \caption{in \%}
    \label{tab:layers}
    \begin{tabular}{lr}
    \toprule
    layer & PRA \\
    \midrule
    conv\_1 & 9.5 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    rows = [
        " & ".join(map(_latex, line)) + r" \\" for line in (sheet.columns, *sheet.lines)
    ]
    columns = [*zip(*sheet.lines, strict=True)][1:]
    sides = "l" + "".join("lr"[any(map(_NUMBER.match, cells))] for cells in columns)
    said = [f"% {' '.join(sentence.split())}" for sentence in sheet.after]
    lines = [
        *said,
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        rf"\caption{{{_latex(sheet.heading)}}}",
        r"\label{tab:layers}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        rows[0],
        r"\midrule",
        *rows[1:],
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def columns_of(sheet: Sheet) -> list[str]:
    """Return the line of titles and the other lines, aligned in columns."""
    return aligned([sheet.columns, *sheet.lines])


def _html(sheet: Sheet) -> Iterator[str]:
    """Yield the HTML of a sheet: the first column to the left, numbers to the right."""
    left, right = (
        f'style="text-align:{side};padding:0.15em 0.8em 0.15em 0;border:0"'
        for side in ("left", "right")
    )
    line = "border-bottom:1px solid currentColor"
    first, *others = sheet.columns
    titles = f'<th scope="col" {left}>{escape(first)}</th>'
    titles += "".join(
        f'<th scope="col" {right}>{escape(title)}</th>' for title in others
    )
    yield '<table style="border-collapse:collapse;margin:0.3em 0;color:inherit;background:none">'
    yield f'<caption style="text-align:left;color:inherit">{escape(sheet.heading)}</caption>'
    yield f'<thead style="{line}"><tr>{titles}</tr></thead><tbody>'
    for name, *cells in sheet.lines:
        rest = "".join(f"<td {right}>{escape(cell)}</td>" for cell in cells)
        yield f'<tr><th scope="row" {left}>{escape(name)}</th>{rest}</tr>'
    yield "</tbody></table>"
    yield from (
        f'<p style="margin:0.3em 0">{escape(sentence)}</p>' for sentence in sheet.after
    )


_NUMBER = re.compile(r"-$|-?\d")  # a number, perhaps with its interval, or a dash

# A bracket after a line's end would be taken for a length, and < > for other signs.
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "±": r"$\pm$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def _latex(cell: str) -> str:
    """Escape a cell for LaTeX; "-" means missing."""
    if cell == "-":
        return "--"
    plain = "".join(sign if sign.isprintable() else " " for sign in cell)
    return "".join(_LATEX.get(sign, sign) for sign in plain)
