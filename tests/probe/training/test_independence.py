"""Predictions that depend on the batch are refused, whatever reads them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import probe
from probe.errors import InputError
from probe.training.evaluation import check_independence
from tests.laws.zoo.hostile import prompts
from tests.laws.zoo.written import ABC, Written

TASKS = [[0, 1], [2]]


def normalized(side: bool, change: Callable[[Tensor], Tensor]) -> nn.Module:
    def run(m: Any, x: Tensor) -> Tensor:
        by_batch = m.mark(functional.batch_norm(h := m.a(x), None, None, training=True))
        return change(m.c(h if side else by_batch))

    return Written(run, ABC)


LAST = torch.tensor(2)
CHANGES: dict[str, Callable[[Tensor], Tensor]] = {
    "as it is": lambda z: z,
    "a masked class": lambda z: z.index_fill(1, LAST, -torch.inf),
    "a class to come": lambda z: z.index_fill(1, LAST, -1e4),
    "noise": lambda z: z + 1e-7 * torch.randn_like(z),
}


def data(shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    y = torch.arange(60) % 3
    centers = 3 * torch.randn(3, *[1] * (len(shape) - 1), shape[-1], generator=draw)
    return centers[y] + torch.randn(60, *shape, generator=draw), y


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_values_of_a_batch_are_refused(change: Callable[[Tensor], Tensor]) -> None:
    examples = data((6,))
    for side, name in (False, "the output"), (True, "'mark'"):
        with pytest.raises(
            InputError, match=f"{name}.* depends on the others of its batch"
        ):
            probe.analyze(
                {2: normalized(side, change)},
                examples,
                examples,
                TASKS,
                ["mark"],
                readouts=["ncm"],
            )


def test_a_prompt_of_the_batch_is_refused(tmp_path: Path) -> None:
    model, *_ = prompts.l2p_by_batch.made()
    with pytest.raises(InputError, match="the output of an example depends"):
        probe.Recorder(tmp_path, model, data((4, 8)), TASKS).after_task(1)


def test_what_the_size_of_a_batch_rounds_is_not_refused() -> None:
    check_independence(lambda x: [("fired", x + (len(x) < 16))], *data((6,)))
