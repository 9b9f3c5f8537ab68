"""Predictions that depend on the batch are refused, whatever reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import probe
from probe.errors import InputError
from tests.laws.zoo.hostile import prompts
from tests.laws.zoo.written import ABC, Written

TASKS = [[0, 1], [2]]


def normalized(side: bool) -> nn.Module:
    def run(m: Any, x: Tensor) -> Tensor:
        by_batch = m.mark(functional.batch_norm(h := m.a(x), None, None, training=True))
        return m.c(h if side else by_batch)

    return Written(run, ABC)


def data(shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    draw, y = torch.Generator().manual_seed(0), torch.arange(60) % 3
    centers = 3 * torch.randn(3, *[1] * (len(shape) - 1), shape[-1], generator=draw)
    return centers[y] + torch.randn(60, *shape, generator=draw), y


@pytest.mark.parametrize("side", [True, False], ids=["the feature", "the output"])
def test_values_of_a_batch_are_refused(side: bool) -> None:
    examples, name = data((6,)), "'mark'" if side else "the output"
    with pytest.raises(InputError, match=f"{name}.* depends on the others of its batch"):
        probe.analyze({2: normalized(side)}, examples, examples, TASKS, ["mark"])


def test_a_prompt_of_the_batch_is_refused_unless_each_example_is_computed_by_itself(
    tmp_path: Path,
) -> None:
    model, *_ = prompts.l2p_by_batch.made()
    examples = data((4, 8))
    with pytest.raises(InputError, match="the output of an example depends"):
        probe.Recorder(tmp_path / "batch", model, examples, TASKS).after_task(1)
    rows = []
    for test in examples, tuple(part.flip(0) for part in examples):
        folder = tmp_path / f"run{len(rows)}"
        one_by_one = lambda model, x: torch.cat([model(row) for row in x.split(1)])  # noqa: E731
        recorder = probe.Recorder(folder, model, test, TASKS, call=one_by_one)
        recorder.after_task(1)
        rows.append(recorder.R.values[1].tolist())
    assert rows[0] == rows[1]
