"""How a network of transformers is made from a tiny configuration: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import transformers
from torch import Tensor, nn

from tests.laws.others.laws import CLASSES
from tests.laws.zoo.net import Inputs, Net


class Last(nn.Module):
    """A classifier of the last word, for families that come without one; padding is in front."""

    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(width, CLASSES)

    def forward(self, input_ids: Tensor, **more: Tensor) -> Mapping[str, Tensor]:
        return {"logits": self.head(self.body(input_ids, **more)[0][:, -1])}


def _made(family: str, task: str, settings: Mapping[str, Any]) -> nn.Module:
    config = getattr(transformers, f"{family}Config")(**settings)
    made: nn.Module = getattr(transformers, f"{family}{task}")(config)
    return made if task != "Model" else Last(made, config.hidden_size)


def tiny(
    family: str,
    inputs: Callable[[int], Inputs],
    task: str,
    settings: Mapping[str, Any],
    hidden: frozenset[str] = frozenset(),
) -> Net:
    """A network of a family, made for a task by such settings; hidden: see `Net.shows_not`."""
    build = partial(_made, family, task, settings)
    return Net(build=build, inputs=inputs, features={}, output="logits", shows_not=hidden)
