"""What tests of commands share."""

import pytest


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the figures out, which take longer than the studies."""
    monkeypatch.setattr("scenarios.commands.run.build", lambda *_, **__: [])
