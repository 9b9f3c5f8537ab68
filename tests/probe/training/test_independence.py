"""Predictions that depend on the batch are refused, whatever reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import probe
from probe.errors import InputError
from tests.laws.zoo.hostile import prompts

TASKS = [[0, 1], [2]]


class Normalized(nn.Sequential):
    """Batch norm uses the statistics of the batch, by a call, in eval mode, too."""

    def __init__(self, side: bool) -> None:
        super().__init__(nn.Linear(6, 6), nn.Identity(), nn.Linear(6, 3))
        self.side = side

    def forward(self, x: Tensor) -> Tensor:
        h = self[0](x)
        by_batch = self[1](nn.functional.batch_norm(h, None, None, training=True))
        return self[2](h if self.side else by_batch)


def data(shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    draw, y = torch.Generator().manual_seed(0), torch.arange(60) % 3
    centers = 3 * torch.randn(3, *[1] * (len(shape) - 1), shape[-1], generator=draw)
    return centers[y] + torch.randn(60, *shape, generator=draw), y


def by_itself(model: nn.Module, x: Tensor) -> Tensor:
    return torch.cat([model(row) for row in x.split(1)])


@pytest.mark.parametrize("side", [True, False], ids=["the feature", "the output"])
def test_values_of_a_batch_are_refused(side: bool) -> None:
    examples, name = data((6,)), "'1'" if side else "the output"
    with pytest.raises(InputError, match=f"{name}.* depends on the others of its batch"):
        probe.analyze({2: Normalized(side)}, examples, examples, TASKS, ["1"])


def test_a_prompt_of_the_batch_is_refused_unless_each_example_is_computed_by_itself(
    tmp_path: Path,
) -> None:
    model, *_ = prompts.l2p_by_batch.made()
    examples = data((4, 8))
    with pytest.raises(InputError, match="the output of an example depends"):
        probe.Recorder(tmp_path / "batch", model, examples, TASKS).after_task(1)
    backward = tuple(part.flip(0) for part in examples)
    matrices = []
    for name, test in ("forward", examples), ("backward", backward):
        recorder = probe.Recorder(tmp_path / name, model, test, TASKS, call=by_itself)
        recorder.after_task(1)
        matrices.append(recorder.R.values[1].tolist())
    assert matrices[0] == matrices[1]


def test_prompts_of_examples_are_measured() -> None:
    for net in (prompts.l2p, prompts.dual_prompt):
        model, *_ = net.made()
        examples = data((4, 8))
        result = probe.analyze({2: model}, examples, examples, TASKS, ["norm"])
        right = model.eval()(examples[0]).argmax(1) == examples[1]
        by_task = [right[examples[1] < 2], right[examples[1] == 2]]
        assert result.R.values[2].tolist() == [float(task.double().mean()) for task in by_task]
