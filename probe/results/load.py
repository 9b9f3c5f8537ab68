"""Results read from folders: saved results, and run directories."""

from collections.abc import Callable
from pathlib import Path

from probe.errors import InputError
from probe.results.analysis import KIND, Analysis
from probe.retraining import PartialRetraining
from probe.tables.folder import DESCRIPTION, Saved, read_folder, read_tables

_READERS: dict[str, Callable[[Saved], Analysis | PartialRetraining]] = {
    KIND: Analysis.of_saved,
    PartialRetraining.KIND: PartialRetraining.of_saved,
}


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

    A saved result is restored exactly; a run directory gives an `Analysis` of its learners, orders
    and seeds, with only its tables. Nothing in the folder is run or unpickled. Raises InputError,
    naming the file, for a folder without a result and for a damaged one.
    """
    path = Path(str(folder))  # of None, too, so that it is refused as any other
    if not (path / DESCRIPTION).is_file():
        return Analysis(tables_by_name=read_tables(path))
    saved = read_folder(path)
    if saved.kind not in _READERS:
        raise InputError(f"{path} has a result of kind {saved.kind!r}, not {' or '.join(_READERS)}")
    try:
        return _READERS[saved.kind](saved)
    except (KeyError, ValueError, TypeError, IndexError):
        raise InputError(
            f"{path / DESCRIPTION} is damaged, or of an earlier version: measure again and save"
        ) from None
