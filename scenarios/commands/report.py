"""`probe report`, `probe compare` and `probe explain`: results of runs, and their sources."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from itertools import chain
from pathlib import Path

from probe.errors import InputError, check_known
from probe.files import write_text
from scenarios.commands.screen.sheets import show_sheet
from scenarios.commands.screen.terminal import as_json, show_line
from scenarios.options import names


def build(root: Path) -> None:
    """Write a run directory's page, and redraw its figures if its tables have changed."""
    # Imported here: showing a plan needs neither pandas nor jinja2.
    from figures.build import build as draw
    from figures.report.page import PAGE, write_report

    draw(root, changed_only=True)
    write_report([root], root / PAGE)


def show_report(
    directories: list[Path], out: Path | None, learners: str | None = None
) -> None:
    """Write the page of one or several run directories, and print its path.

    Args:
        directories: The run directories.
        out: The file to write, the answers alone if it ends in .md or .json; None for
            the page in the first directory.
        learners: The learners to show, separated by commas; None = the first 12.

    Raises:
        InputError: Tables are missing or cannot be read, a learner is unknown, or the
            file's ending is.
    """
    from figures.report.page import PAGE, write_report

    path = out or directories[0] / PAGE
    chosen = names(learners) if learners else None
    folders = [*map(_run_directory, directories)]
    suffix = path.suffix.lower()
    if suffix not in (".html", ".md", ".json"):
        raise InputError(f"--out must end in .html, .md or .json, got {path.name}")
    if suffix != ".html":
        _write_answers(folders, path, chosen)
    else:
        write_report(folders, path, chosen)
    show_line(str(path))


def _write_answers(
    folders: Sequence[Path], path: Path, chosen: Sequence[str] | None
) -> None:
    """Write the answers of run directories as Markdown or JSON."""
    from probe.answers.study import answers
    from probe.answers.text import as_markdown
    from probe.results.run_directory import next_of
    from probe.tables.folder import by_name, read_tables

    answers_of = {
        name: answers(read_tables(folder), next_of(folder))
        for name, folder in by_name(folders).items()
    }
    methods = {answer.method for answer in chain(*answers_of.values())}
    for name in chosen or ():
        check_known("method", name, methods, "in these tables")
    records = {}
    text = ""
    for name, of_run in answers_of.items():
        shown = [answer for answer in of_run if answer.method in (chosen or methods)]
        records[name] = [*map(asdict, shown)]
        text += f"# {name}\n\n" if len(folders) > 1 else ""
        text += as_markdown(shown)
    write_text(path, as_json(records) if path.suffix.lower() == ".json" else text)


def show_compared(first: Path, second: Path, most: float | None) -> bool:
    """Print how much more or less each layer forgets in a second run than in the first.

    Args:
        first: The directory of the first run, or `reference:NAME` for tables of this
            package.
        second: The directory of the second run.
        most: The most accuracy that a layer of the second run may forget, a fraction;
            None = no limit.

    Returns:
        Whether no layer forgets more than the limit; those that do are printed.

    Raises:
        InputError: Tables are missing or cannot be read.
    """
    from probe.tables.compared import compared_sheets
    from probe.tables.folder import read_tables
    from probe.tables.layer_text import points
    from probe.tables.table_file import where

    tables = ("measurements", "statements", "statement_seeds")
    before = read_tables(_run_directory(first), tables)
    after = read_tables(_run_directory(second), tables)
    names = [path.name for path in (first, second)]
    if first.name == second.name:
        names = ["/".join(path.parts[-2:]) for path in (first, second)]
    for sheet in compared_sheets(names[0], before, names[1], after):
        show_sheet(sheet)
    forgets = where(after["statements"], statement="forgets")
    if most is not None and forgets["value"].isna().all():
        show_line(
            "nothing is judged: the second run did not measure what layers forget"
        )
    above = forgets[forgets["value"] > (1 if most is None else most)]
    for row in above.itertuples():
        limits = (
            f"[{points(row.low)}, {points(row.high)}], more than {points(most or 0)}"
        )
        cell = f"{row.learner}, {row.readout}, {row.feature}"
        show_line(f"{cell}: forgets {points(row.value)} points {limits}")
    return bool(above.empty)


def _run_directory(directory: Path) -> Path:
    """Return a run directory; `reference:NAME` stands for that of tables in this package."""
    prefix, _, name = str(directory).partition(":")
    if prefix != "reference":
        return directory
    folder = Path(str(files("scenarios") / "references"))
    known = [path.name for path in folder.iterdir()]
    check_known("reference", name, known, "in this package")
    return folder / name


def show_explanation(
    root: Path, learner: str, readout: str, feature: str, quantity: str
) -> None:
    """Print the formula of a layer's quantity, its accuracies, the notes on them, and the files.

    Args:
        root: The run directory.
        learner: The name of the learner.
        readout: The name of the readout.
        feature: The name of the feature.
        quantity: A quantity of layers.csv.

    Raises:
        InputError: The directory holds no study, or a name is not in it.
    """
    from probe.results.explanation import explain

    sheet, notes, paths = explain(root, learner, readout, feature, quantity)
    show_sheet(sheet)
    for note in notes:
        show_line(f"note: {note}")
    for path in paths:
        show_line(f"predictions: {path}")
