"""Runs of other frameworks, read from files whose formats are plain.

Files are read as data: no code of them is run, and none of the frameworks is imported.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from probe.record.readers.facil import read_facil
from probe.record.readers.foreign_runs import NEVER, ForeignRuns
from probe.record.readers.mammoth import read_mammoth
from probe.record.readers.pycil import read_pycil

__all__ = ["NEVER", "READERS", "ForeignRuns"]

READERS: Mapping[str, Callable[[Path], ForeignRuns]] = {
    "mammoth": read_mammoth,
    "facil": read_facil,
    "pycil": read_pycil,
    "pilot": read_pycil,
}
"""By framework, what reads a folder of its runs."""
