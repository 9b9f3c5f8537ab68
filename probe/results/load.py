"""Results and predictions read from folders: saved results, and run directories."""

import warnings
from collections.abc import Callable
from os.path import isfile
from pathlib import Path

import pandas as pd

from probe.arguments import checked
from probe.by_layer.quarantine import quarantine_notes
from probe.errors import InputError
from probe.results.analysis import KIND, Analysis
from probe.results.records import Records
from probe.results.run_directory import is_run_directory
from probe.retraining import PartialRetraining
from probe.tables.folder import DESCRIPTION, Saved, read_folder, read_tables

_READERS: dict[str, Callable[[Saved], Analysis | PartialRetraining]] = {
    KIND: Analysis.of_saved,
    PartialRetraining.KIND: PartialRetraining.of_saved,
}


@checked
def load(folder: str | Path) -> Analysis | PartialRetraining:
    """Return the result in a folder: one written by `save`, or the tables of a run directory.

    >>> import probe, torch
    >>> from tempfile import TemporaryDirectory
    >>> data = torch.randn(6, 4), torch.arange(6) % 2
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
    >>> result = probe.partial_retrain(net, ["0"], data, data, [[0], [1]])
    >>> with TemporaryDirectory() as folder:
    ...     result.save(folder)
    ...     probe.load(folder).measured == result.measured
    True

    A saved result is restored exactly; a run directory gives an `Analysis` of its
    learners, orders and seeds, with only its tables. Nothing in the folder is run or
    unpickled.

    Args:
        folder: The folder.

    Raises:
        InputError: The folder has no result, or a file is damaged; the message names
            the file.
    """
    path = Path(str(folder))  # of None, too, so that it is refused as any other
    if not isfile(path / DESCRIPTION):
        return Analysis(tables_by_name=read_tables(path))
    saved = read_folder(path)
    if saved.kind not in _READERS:
        raise InputError(
            f"{path} has kind {saved.kind!r}, expected {' or '.join(_READERS)}"
        )
    try:
        return _READERS[saved.kind](saved)
    except (KeyError, ValueError, TypeError, IndexError):
        raise InputError(
            f"{path / DESCRIPTION} is damaged or old: measure again"
        ) from None


@checked
def predictions(source: Analysis | str | Path) -> pd.DataFrame:
    """Return the class predicted for every test example by every readout of every network.

    All counts, accuracies, PRA, F1 and intervals of a study can be computed from these
    rows.

    Args:
        source: A run directory, the folder of a saved analysis, or an analysis.

    Returns:
        A row for each test example and measurement, with the columns `learner`,
        `order`, `seed`, `tasks_seen`, `feature`, `readout` (empty for the network's own
        output), `head` (`single`, `multi` or `all`: the outputs that compete),
        `example` (position in the given test data, from 0), `task_position` (position
        of the example's task in the executed order, from 1), `label`, `predicted`.

    Raises:
        InputError: The folder holds no predictions, or the analysis holds only tables.

    Warns:
        UserWarning: A file is corrupt, and was set aside.

    Example:
        >>> import probe, torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
        >>> data = torch.randn(8, 4), torch.arange(8) % 2
        >>> result = probe.analyze({2: net}, data, data, [[0], [1]], ["0"], readouts=["ncm"])
        >>> rows = probe.predictions(result).query("feature == '0' and tasks_seen == 2")
        >>> rows[["example", "task_position", "label"]].values[:3].tolist()
        [[0, 1, 0], [1, 2, 1], [2, 1, 0]]
    """
    return records_of(source).to_frame()


def records_of(source: Analysis | str | Path) -> Records:
    """Return the records of a run directory, the folder of a saved analysis, or an analysis.

    Raises:
        InputError: There are none.

    Warns:
        UserWarning: A file is corrupt, and was set aside.
    """
    if isinstance(source, str | Path) and is_run_directory(root := Path(source)):
        before = quarantine_notes(root)
        records = Records.read(root)
        for note in set(quarantine_notes(root)).difference(before):
            # The warning points to the caller of a function that is decorated.
            warnings.warn(f"rows are missing until the next run: {note}", stacklevel=4)
        return records
    result = load(source) if isinstance(source, str | Path) else source
    if not isinstance(result, Analysis) or result.records is None:
        where = source if isinstance(source, str | Path) else "this result"
        raise InputError(
            f"{where} holds no predictions: give a run directory or an analysis"
        )
    return result.records
