"""What `probe run` prints of a study: the plan before it, and Kemker's table after it."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import pytest
from torch import Tensor, nn

from probe.memory import show_size
from scenarios.commands.run import run_study
from scenarios.options import RunOptions

TINY = """
orders = "none"
[scenario]
kind = "{kind}"
data = "digits"
train_limit = 5
[network]
name = "mlp"
features = ["{feature}"]
[training]
epochs = 1
batch_size = 16
[learners.finetune]
"""


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave them out: they take longer than the study, and are not printed."""
    monkeypatch.setattr("scenarios.commands.run.build", lambda *_, **__: [])


def run(folder: Path, kind: str, feature: str = "output") -> None:
    source = folder / "tiny.toml"
    source.write_text(TINY.format(kind=kind, feature=feature))
    run_study(str(source), RunOptions(out=folder / "run", workers=1))


@pytest.mark.parametrize(("kind", "shown"), [("split", False), ("incremental", True)])
def test_the_omegas_are_shown_of_kemkers_scenarios_alone(
    kind: str, shown: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, kind)
    assert ("Omegas" in capsys.readouterr().out) == shown


@pytest.mark.parametrize(("trains", "examples"), [(True, 50 + 360), (False, 360)])
def test_behind_what_cannot_be_trained_the_plan_has_the_test_examples_alone(
    trains: bool,
    examples: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """10 numbers of 4 bytes at hidden1, for each of 50 training and 360 test digits."""

    def tailed(name: str, x: Tensor, classes: int) -> nn.Module:
        first = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        last = nn.Linear(10, classes) if trains else nn.Identity()
        return nn.Sequential(OrderedDict(hidden1=first, hidden2=nn.ReLU(), output=last))

    monkeypatch.setattr("scenarios.study.job.network_for", tailed)
    run(tmp_path, "split", "hidden1")
    assert f"hidden1: {show_size(examples * 10 * 4)}, in memory" in capsys.readouterr().out
