"""`probe run` prints the plan before a study, and Kemker's table after it."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor, nn

from probe.byte_sizes import show_size
from tests.bad_input.making import study


@pytest.mark.parametrize(("kind", "trains"), [("split", True), ("incremental", False)])
def test_kemkers_omegas_and_a_plan_without_the_examples_of_what_cannot_be_trained(
    kind: str, trains: bool, cwd: Path, probe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 numbers of 4 bytes at hidden1, for each of 50 training and 360 test digits."""

    def tailed(name: str, x: Tensor, classes: int) -> nn.Module:
        first = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        last = nn.Linear(10, classes) if trains else nn.Identity()
        return nn.Sequential(OrderedDict(hidden1=first, hidden2=nn.ReLU(), output=last))

    monkeypatch.setattr("scenarios.study.learned.network_for", tailed)
    monkeypatch.setattr("scenarios.commands.run.build", lambda *_, **__: [])
    changes = {"scenario.kind": f'"{kind}"', "network.features": '["hidden1"]'}
    (cwd / "tiny.toml").write_text(study(changes))
    code, out, _ = probe("run tiny.toml --workers 1 --learners finetune")
    assert code == 0
    assert f"hidden1: {show_size((50 * trains + 360) * 10 * 4)}, in memory" in out
    assert ("Omegas" in out) == (kind == "incremental")
