"""Initialization rules: fresh weights for a network, or for the tail of one behind a feature."""

from collections.abc import Callable, Collection
from typing import Literal

import torch
from torch import Tensor, nn

from probe.errors import InputError
from probe.modules import named_state
from probe.seeding import global_stream

Rule = Literal["murata", "torch"]
"""The rules by name, see `initialize`."""

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def initialize(
    model: nn.Module, rule: Rule, generator: torch.Generator, keep: Collection[str] = ()
) -> None:
    """Give every parameter of `model` a fresh value, except those named in `keep`.

    rule: `murata` = He initialization for convolutions, N(0, 0.01^2) for dense weights, zero
    biases, and each other module's own `reset_parameters` (Murata 2020, section 3; the paper does
    not say what normalization layers get); `torch` = each module's own `reset_parameters`.
    Buffers, such as running statistics, get what `reset_parameters` gives them. keep: names of
    parameters and buffers, as in the model's `state_dict`, which keep their values bit for bit.
    Raises InputError for a parameter that neither a rule nor its module's `reset_parameters`
    writes.

    >>> layer = nn.Linear(3, 2)
    >>> initialize(layer, "murata", torch.Generator(), keep=["weight"])
    >>> layer.bias.tolist()
    [0.0, 0.0]
    """
    state = named_state(model)
    # By identity: a parameter that two modules share is kept under either name.
    kept = {id(state[name]): state[name] for name in keep}
    saved = [(tensor, tensor.detach().clone()) for tensor in kept.values()]
    fresh = {n: p for n, p in model.named_parameters() if id(p) not in kept}
    with torch.no_grad():
        # What no rule writes to is found by the NaN that is left in it.
        for parameter in fresh.values():
            parameter.fill_(torch.nan)
        for module in model.modules():
            own = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
            if not all(id(tensor) in kept for tensor in own):
                _rule_for(module, rule)(module, generator)
        # A rule writes a module as a whole, or its children too; what is kept gets its value back.
        for tensor, value in saved:
            tensor.copy_(value)
    for name, parameter in fresh.items():
        if parameter.isnan().any():
            raise InputError(
                f"no rule re-initializes the parameter {name!r}: give the module it belongs to a "
                f"reset_parameters() method that does"
            )


def _rule_for(module: nn.Module, rule: Rule) -> Callable[[nn.Module, torch.Generator], None]:
    # A parametrized layer computes its weight from other parameters, which these cannot write.
    weighted = rule == "murata" and "weight" in dict(module.named_parameters(recurse=False))
    if weighted and isinstance(module, _CONVOLUTIONS):
        return _he
    if weighted and isinstance(module, nn.Linear):
        return _dense
    return _own


def _he(module: nn.Module, generator: torch.Generator) -> None:
    """Draw weights (out, in, ...) of variance 2 over the inputs of a unit (He et al. 2015)."""
    weight = module.get_parameter("weight")
    fan_in = weight[0].numel()
    _normal(weight, (2 / fan_in) ** 0.5, generator)
    _zero_bias(module)


def _dense(module: nn.Module, generator: torch.Generator) -> None:
    _normal(module.get_parameter("weight"), 0.01, generator)
    _zero_bias(module)


def _own(module: nn.Module, generator: torch.Generator) -> None:
    """Let the module initialize itself, if it can."""
    # nn.MultiheadAttention alone spells it with an underscore.
    reset = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
    if reset is not None:
        with global_stream(generator):
            reset()


def _normal(weight: Tensor, std: float, generator: torch.Generator) -> None:
    weight.copy_(torch.randn(weight.shape, generator=generator) * std)


def _zero_bias(module: nn.Module) -> None:
    if isinstance(module.bias, Tensor):
        module.bias.zero_()
