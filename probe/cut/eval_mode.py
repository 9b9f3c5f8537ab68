"""A model of which a part stays in eval mode, whatever mode the rest is in."""

from collections.abc import Mapping, Sequence
from typing import Self

from torch import Tensor, nn

from probe.batch import Value
from probe.cut.model_call import ModelCall
from probe.modules import forget

EvalCalls = Mapping[str, Sequence[bool]]
"""Whether each call of a module in a forward pass is in eval mode, by its dotted name."""


class PartlyEval(nn.Module):
    """The whole model, with a part of it in eval mode at all times.

    `requires_grad_(False)` keeps parameters from being trained, but it neither stops a batch norm's
    statistics from moving nor turns off dropout: only eval mode does.

    >>> model = nn.Sequential(nn.Dropout(), nn.Dropout())
    >>> whole = PartlyEval(model, {"0": [True]}, ModelCall()).train()
    >>> [module.training for module in model]
    [False, True]
    """

    def __init__(self, model: nn.Module, calls: EvalCalls, ask: ModelCall) -> None:
        super().__init__()
        self.model = model
        self.ask = ask
        self._off = [model.get_submodule(name) for name, off in calls.items() if all(off)]
        for name, off in calls.items():
            if not all(off):
                switch = _Switch(self, off)
                for module in (model, model.get_submodule(name)):
                    module.register_forward_pre_hook(switch, prepend=True)

    def train(self, mode: bool = True) -> Self:
        """Set the mode of all modules but those that stay in eval mode."""
        super().train(mode)
        for module in self._off:
            module.training = False
        return self

    def forward(self, x: Value) -> Tensor:
        """Return the logits (B, K) of inputs x (B, ...)."""
        forget(self.model)
        return self.ask(self.model, x)


class _Switch:
    """A hook that sets a module's mode before each of its calls.

    It counts the calls of one module, from 0 in each forward pass of the model around it; calls
    beyond those seen when the model was followed have the model's mode.
    """

    def __init__(self, model: PartlyEval, off: Sequence[bool]) -> None:
        self._whole, self._off, self._calls = model, off, 0

    def __call__(self, module: nn.Module, inputs: object) -> None:
        if module is self._whole.model:
            self._calls = 0
        else:
            module.training = self._whole.training and not any(self._off[self._calls :][:1])
            self._calls += 1
