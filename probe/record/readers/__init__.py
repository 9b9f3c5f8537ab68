"""Runs of other frameworks, read from their files without running any code."""

from probe.record.readers.foreign_runs import NEVER, ForeignRuns
from probe.record.readers.frameworks import READERS

__all__ = ["NEVER", "READERS", "ForeignRuns"]
