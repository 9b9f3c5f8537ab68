"""Runs of other frameworks, read from their files without running any code."""

from probe.record.readers.foreign_runs import ForeignRuns
from probe.record.readers.frameworks import READERS
from probe.record.state_files import NEVER

__all__ = ["NEVER", "READERS", "ForeignRuns"]
