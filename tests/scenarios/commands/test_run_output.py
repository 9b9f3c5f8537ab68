"""Output of `probe run`: the plan of cached activations before a study, Kemker's table after it."""

from collections import OrderedDict

import pytest
from torch import nn

from probe.memory import show_size
from tests.bad_input.making import study
from tests.scenarios.execution.helpers import TINY, run


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("kind", "trains"), [("class-incremental", True), ("incremental", False)]
)
def test_kemkers_omegas_and_a_plan_without_the_examples_of_what_cannot_be_trained(
    kind, trains, cwd, probe, monkeypatch
):
    """10 numbers of 2 bytes at hidden1, for each of 50 training and 360 test digits."""

    def tailed(name, x, classes):
        first = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        last = nn.Linear(10, classes) if trains else nn.Identity()
        return nn.Sequential(OrderedDict(hidden1=first, hidden2=nn.ReLU(), output=last))

    monkeypatch.setattr("scenarios.study.training.network_for", tailed)
    changes = {
        "scenario.kind": f'"{kind}"',
        "network.features": '["hidden1"]',
        "storage": '"bf16"',
    }
    (cwd / "tiny.toml").write_text(study(changes))
    planned = probe("run tiny.toml --workers 1 --learners finetune --dry-run")[1]
    code, out, _ = probe("run tiny.toml --workers 1 --learners finetune --tables")
    assert code == 0
    assert f"hidden1: {show_size((50 * trains + 360) * 10 * 2)}, in memory" in planned
    assert "in memory" not in out
    assert ("Omegas" in out) == (kind == "incremental")


# `--dry-run`: the jobs that are left, and not a byte is written.


def table(out):
    """Return the table by learner: jobs, finished, left, parts left, training steps left."""
    return {
        name: cells
        for name, *cells in map(str.split, filter(str.strip, out.splitlines()))
    }


def test_what_a_dry_run_counts(probe, cwd):
    """A job of five tasks of 16 examples; two layers retrained on all 80, in batches of 64."""
    code, out, err = probe(
        f"run {TINY} --dry-run --workers 1 --learners finetune,er,fel"
    )
    assert (code, err) == (0, "")
    assert list(cwd.iterdir()) == []
    assert table(out)["finetune"] == table(out)["er"] == ["2", "0", "2", "16", "18"]
    assert table(out)["fel"][:3] + table(out)["fel"][4:] == ["2", "0", "2", "unknown"]
    assert run(cwd / "run", learners="finetune")
    before = {path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")}
    out = probe(f"run {TINY} --dry-run --workers 2 --learners finetune,er --out run")[1]
    assert table(out)["finetune"] == ["2", "2", "0", "0", "0"]
    assert table(out)["er"][:3] == ["2", "0", "2"]
    assert {
        path: path.stat().st_mtime_ns for path in (cwd / "run").rglob("*")
    } == before
    (cwd / "rewound.toml").write_text(
        TINY.read_text().replace("hybrids = 0", "hybrids = 64")
    )
    out = probe("run rewound.toml --dry-run --workers 1 --learners finetune")[1]
    # Rewinding trains nothing.
    assert table(out)["finetune"] == ["2", "0", "2", "24", "18"]
    # All tasks so far are learned again: 8 and 80 examples, or 72 and 80.
    uneven = TINY.read_text().replace("[learners.er]\nmemory_per", "[learners.er]\n#")
    for text, other in (
        ("train_limit", "tasks = [[0], [1, 2, 3, 4, 5, 6, 7, 8, 9]]\ntrain_limit"),
        ("learners.er", "learners.cumulative"),
        ("there = [1, 2, 3, 4, 5]", "there = [1, 2]"),
        ("back = [5, 4, 3, 2, 1]", "back = [2, 1]"),
    ):
        uneven = uneven.replace(text, other)
    (cwd / "uneven.toml").write_text(uneven)
    out = probe("run uneven.toml --dry-run --workers 1 --learners cumulative")[1]
    assert table(out)["cumulative"][-1] == "15"
