"""Initialization rules: fresh weights for a network, or for the tail of one behind a feature."""

from collections.abc import Collection
from typing import Literal

import torch
from torch import Tensor, nn

from probe.errors import InputError
from probe.modules import named_state
from probe.seeding import global_stream

Rule = Literal["murata", "torch"]
"""The rules by name, see `initialize`."""

_CONVOLUTIONS = nn.Conv1d | nn.Conv2d | nn.Conv3d


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
                _fill(module, rule, generator)
        # A rule writes a module as a whole, or its children too; what is kept gets its value back.
        for tensor, value in saved:
            tensor.copy_(value)
    for name, parameter in fresh.items():
        if parameter.isnan().any():
            raise InputError(
                f"no rule re-initializes the parameter {name!r}: give the module it belongs to a "
                f"reset_parameters() method that does"
            )


def _fill(module: nn.Module, rule: Rule, generator: torch.Generator) -> None:
    """Give the module's own parameters fresh values by a rule, or by its own where that says so."""
    # A parametrized layer computes its weight from other parameters, which only it can fill.
    weighted = "weight" in dict(module.named_parameters(recurse=False))
    if rule == "murata" and weighted and isinstance(module, _CONVOLUTIONS | nn.Linear):
        weight = module.get_parameter("weight")
        # He et al. 2015: variance 2 over the inputs of a unit; weight: (out, in, ...).
        std = 0.01 if isinstance(module, nn.Linear) else (2 / weight[0].numel()) ** 0.5
        weight.copy_(torch.randn(weight.shape, generator=generator) * std)
        if isinstance(module.bias, Tensor):
            module.bias.zero_()
        return
    # nn.MultiheadAttention alone spells it with an underscore.
    reset = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
    if reset is not None:
        with global_stream(generator):
            reset()
