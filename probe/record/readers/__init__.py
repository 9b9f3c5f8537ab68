"""Runs of other frameworks, read from files whose formats are plain."""

from probe.record.readers.foreign_runs import NEVER, ForeignRuns
from probe.record.readers.frameworks import READERS

__all__ = ["NEVER", "READERS", "ForeignRuns"]
