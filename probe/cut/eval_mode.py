"""A model of which a part stays in eval mode, whatever mode the rest is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from torch import Tensor, nn

from probe.cut.outputs import Output, logits_of


@dataclass(frozen=True)
class EvalPart:
    """Which modules stay in eval mode.

    always: their dotted names; calls: for modules that run before the feature and behind it, the
    numbers of their calls in a forward pass, from 0, that do.
    """

    always: frozenset[str]
    calls: Mapping[str, frozenset[int]]


class PartlyEval(nn.Module):
    """The whole model, with a part of it in eval mode at all times.

    `requires_grad_(False)` keeps parameters from being trained, but it neither stops a batch norm's
    statistics from moving nor turns off dropout: only eval mode does.
    """

    def __init__(self, model: nn.Module, part: EvalPart, output: Output) -> None:
        super().__init__()
        self.model = model
        self.output = output
        self._off = [model.get_submodule(name) for name in sorted(part.always)]
        switches = [_Switch(model, off) for off in part.calls.values()]
        for name, switch in zip(part.calls, switches, strict=True):
            model.get_submodule(name).register_forward_pre_hook(switch, prepend=True)
        if switches:
            model.register_forward_pre_hook(_Reset(switches), prepend=True)

    def train(self, mode: bool = True) -> Self:
        """Set the mode of all modules but those that stay in eval mode."""
        super().train(mode)
        for module in self._off:
            module.training = False
        return self

    def forward(self, x: Any) -> Tensor:
        """Return the logits (B, K) of inputs x (B, ...)."""
        return logits_of(self.model(x), self.output)


class _Switch:
    """Before each call of a module, gives it the mode that the call is to have."""

    def __init__(self, model: nn.Module, off: frozenset[int]) -> None:
        self._model = model
        self._off = off
        self.calls = 0

    def __call__(self, module: nn.Module, inputs: object) -> None:
        module.training = self._model.training and self.calls not in self._off
        self.calls += 1


class _Reset:
    """Before each forward pass of the model, lets all switches count from 0."""

    def __init__(self, switches: list[_Switch]) -> None:
        self._switches = switches

    def __call__(self, module: nn.Module, inputs: object) -> None:
        for switch in self._switches:
            switch.calls = 0
