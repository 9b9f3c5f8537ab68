"""`probe explain`: from a number of layers.csv to the accuracies and files that it comes from."""

from pathlib import Path

from rich.console import Console

from probe.results.explanation import explain
from scenarios.commands.screen.sheets import show_sheet
from scenarios.commands.screen.terminal import show_line


def show_explanation(root: Path, learner: str, readout: str, feature: str, quantity: str) -> None:
    """Print the formula of a layer's quantity, its accuracies, the notes on them, and the files.

    Args:
        root: The run directory.
        learner: Name of the learner.
        readout: Name of the readout.
        feature: Name of the feature.
        quantity: A quantity of layers.csv.

    Raises:
        InputError: See `probe.results.explanation.explain`.
    """
    console = Console()
    sheet, notes, paths = explain(root, learner, readout, feature, quantity)
    show_sheet(console, sheet)
    for note in notes:
        show_line(console, f"note: {note}")
    for path in paths:
        show_line(console, f"predictions: {path}")
