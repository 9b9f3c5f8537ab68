"""Results read back from folders: saved ones, and the run directories of studies."""

from __future__ import annotations

from pathlib import Path

from probe.by_layer.result import Analysis
from probe.by_layer.stored import KIND, measured_of
from probe.errors import InputError
from probe.retraining import PartialRetraining
from probe.tables.folder import DESCRIPTION, Saved, is_saved, read_folder, read_tables


def load(folder: str | Path) -> Analysis | PartialRetraining:
    """Return the result that a folder holds: what `save` wrote, or the tables of a study.

    A saved result comes back exactly; of any run directory comes an `Analysis` of its learners,
    orders and seeds, with its tables alone. Nothing in the folder is run or unpickled. Raises
    InputError, naming the file, for a folder without a result and for one that is damaged.
    """
    path = Path(folder)
    if not is_saved(path):
        return Analysis(given=read_tables(path))
    saved = read_folder(path)
    try:
        return _result(saved)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        if isinstance(error, InputError) and saved.kind not in _KINDS:
            raise
        raise InputError(
            f"{path / DESCRIPTION} is damaged (it does not fit the arrays): save the result again"
        ) from None


_KINDS = (KIND, PartialRetraining.KIND)


def _result(saved: Saved) -> Analysis | PartialRetraining:
    if saved.kind == PartialRetraining.KIND:
        return PartialRetraining.of_saved(saved)
    if saved.kind == KIND:
        measured = measured_of(saved.record, saved.arrays) if saved.arrays else None
        return Analysis(given=saved.tables, measured=measured)
    raise InputError(f"it holds a result of kind {saved.kind!r}, expected {' or '.join(_KINDS)}")
