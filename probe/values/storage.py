"""The precision in which values of prefixes are stored."""

from typing import Literal

Storage = Literal["fp32", "bf16"]
"""The precision in which floating-point values are stored."""
