"""A network whose factory changed between two runs: done again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
import torch

from scenarios.user_code import importing
from tests.scenarios.own_run import SOURCE, Own, apart, tables

PRETRAINED = """

def pretrained():
    model = build()
    model.load_state_dict(torch.load("pre.pt", weights_only=True))
    return model
"""


def draw(own: Own, seed: int, name: str) -> None:
    """Write a checkpoint with the weights of a seed."""
    with apart(), importing(f"{own.code}:build"):
        code = import_module(own.code.stem)
    torch.manual_seed(seed)
    torch.save(code.build().state_dict(), name)


def test_weights_that_the_factory_loads_are_part_of_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The floor is that of the network as it is made."""
    own = Own(tmp_path).written(SOURCE + PRETRAINED)
    monkeypatch.chdir(tmp_path)
    draw(own, 0, "task2.pt")
    few = {"target": f"{own.code}:pretrained", "readouts": "linear", "checkpoints": "task{task}.pt"}
    few |= {"orders": None, "offline": None, "learner": "finetune"}
    draw(own, 1, "pre.pt")
    first = tables(own.model(**few))
    draw(own, 2, "pre.pt")
    second = tables(own.model(**few))
    assert first["layers.csv"] != second["layers.csv"]
    assert tables(own.model("fresh", **few)) == second
