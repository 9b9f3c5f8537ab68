"""What is built over the package is found by its name, and told where it is not installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from probe.extensions import GROUP, extension

from probe.errors import InputError


def test_what_is_installed_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("plot", "probe.errors:described", GROUP),
        EntryPoint("plot", "probe.errors:unknown", "of_another"),
    ]
    monkeypatch.setattr(
        "probe.extensions.entry_points",
        lambda group, name: [p for p in points if (p.group, p.name) == (group, name)],
    )
    assert extension("plot").__name__ == "described"


def test_what_is_not_installed_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"plotz is not there, as .*: pip install -e \.$"):
        extension("plotz")
