"""Fresh weights for a network, or for the tail of one: by a rule, from a new model, or rewound."""

from collections.abc import Callable, Collection, Mapping
from typing import get_args

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from probe.errors import InputError, check_known, described, no_exit
from probe.modules import check_values, copied, named_state, unwrapped
from probe.seeding import every_global_stream, stream
from probe.training.recipe import Rule

Factory = Callable[[], nn.Module]
"""A function that makes a new model."""

Fresh = Rule | nn.Module | Mapping[str, Tensor] | Factory
"""The source of fresh values.

A rule; a function that makes a new model of the same architecture; or a model or a
state dict, to rewind to its values.
"""

_CONVOLUTIONS = nn.Conv1d | nn.Conv2d | nn.Conv3d


def initialize(
    model: nn.Module,
    rule: Rule,
    generator: torch.Generator,
    keep: Collection[str] = (),
    unread: Collection[str] = (),
) -> None:
    """Give every parameter of `model` a fresh value, except those named in `keep`.

    Buffers, such as running statistics, get the values of `reset_parameters`.

    Args:
        model: The model, which is changed in place.
        rule: `torch` = each module's own `reset_parameters`; `murata` = He
            initialization for convolutions, N(0, 0.01^2) for dense weights, zero
            biases, and each other module's own `reset_parameters` (Murata 2020, section
            3, which does not mention normalization layers).
        generator: Source of randomness.
        keep: Names of parameters and buffers, as in `state_dict`, that keep their
            values.
        unread: Names of parameters that nothing reads; they keep their values if no
            rule writes them.

    Raises:
        InputError: No rule writes some other parameter.

    >>> layer = nn.Linear(3, 2)
    >>> initialize(layer, "murata", torch.Generator(), keep=["weight"])
    >>> layer.bias.tolist()
    [0.0, 0.0]
    """
    state = named_state(model)
    if not all(tensor.is_cpu for tensor in state.values()):
        # Drawn on the CPU: a seed gives the same weights on every device.
        on_cpu = copied(model).cpu()
        initialize(on_cpu, rule, generator, keep, unread)
        with torch.no_grad():
            for name, value in named_state(on_cpu).items():
                state[name].copy_(value)
        return
    # By identity: a parameter that two modules share is kept under either name.
    kept = {id(state[name]): state[name] for name in keep}
    fresh = {n: p for n, p in model.named_parameters() if id(p) not in kept}
    kept_values = [(tensor, tensor.detach().clone()) for tensor in kept.values()]
    unread_values = {n: fresh[n].detach().clone() for n in unread if n in fresh}
    with torch.no_grad():
        # Tensors that no rule writes to are found by the NaN left in them.
        for parameter in fresh.values():
            parameter.fill_(torch.nan)
        for module in model.modules():
            _fill(module, rule, generator, kept)
        # A rule writes a module as a whole, or its children too; what is kept gets its
        # value back.
        for tensor, value in kept_values:
            tensor.copy_(value)
        for name, value in unread_values.items():
            if fresh[name].isnan().any():
                fresh[name].copy_(value)
    unwritten = [name for name, parameter in fresh.items() if parameter.isnan().any()]
    if unwritten:
        raise no_rule_for(unwritten)


def without_rule(model: nn.Module, rule: Rule) -> list[str]:
    """List all parameters that no rule can reach, without writing any.

    These are the parameters of modules without `reset_parameters`, whose parents have
    none either. In a parametrized module it has no effect: its weight is computed from
    others.

    Args:
        model: The model.
        rule: The rule, see `initialize`.

    Returns:
        The names of the parameters.

    >>> without_rule(nn.ParameterDict({"scale": torch.ones(2)}), "torch")
    ['scale']
    """
    modules = (m for m in model.modules() if _by_murata(m, rule) or _reset_of(m))
    modules = (module for module in modules if not is_parametrized(module))
    # A module's own method may write its children's parameters, too.
    reached = {id(parameter) for module in modules for parameter in module.parameters()}
    return [name for name, p in model.named_parameters() if id(p) not in reached]


def no_rule_for(names: Collection[str]) -> InputError:
    """Return the error for parameters that no rule writes."""
    what = ", ".join(map(repr, names))
    return InputError(
        f"no rule re-initializes {what}: pass fresh= or define reset_parameters()"
    )


def check_fresh(fresh: Fresh, model: nn.Module) -> None:
    """Check that `fresh` is a rule, or holds the whole state of the model.

    A function is called once for the check. Parameters that a rule does not reach are
    listed by `without_rule`.

    Args:
        fresh: A rule, a model, a state dict, or a function that makes a model.
        model: The model to fit.

    Raises:
        InputError: `fresh` is neither.
    """
    if isinstance(fresh, str):
        check_known("rule for fresh weights", fresh, get_args(Rule))
        return
    values = fresh_state(fresh, stream(0, "check"))
    state = named_state(model)
    # Rewinding leaves tensors that are in no state dict as they are.
    for name in sorted(model.state_dict(keep_vars=True).keys() & state.keys()):
        shape = tuple(values[name].shape) if name in values else "none"
        if shape != (expected := tuple(state[name].shape)):
            raise InputError(
                f"`fresh` has {name!r} of shape {shape}, the model of {expected}: "
                "it must be of the same architecture"
            )


def fresh_state(
    fresh: nn.Module | Mapping[str, Tensor] | Factory,
    generator: torch.Generator,
) -> Mapping[str, Tensor]:
    """Return fresh values of parameters and buffers by name.

    A function is called with the global generators of torch, Python and numpy seeded
    from `generator`; they are restored afterwards.

    Args:
        fresh: A model, a state dict, or a function that makes a model.
        generator: Source of the seed.

    Returns:
        The values.

    Raises:
        InputError: A function returns no model, or there is no state in `fresh`.

    >>> sorted(fresh_state(lambda: nn.Linear(2, 1), torch.Generator()))
    ['bias', 'weight']
    """
    if isinstance(fresh, Mapping):
        for name, value in fresh.items():
            if not isinstance(value, Tensor):
                raise InputError(
                    f"`fresh` holds no tensor at {name!r}: pass a state dict"
                )
        return fresh
    if not isinstance(fresh, nn.Module):
        if not callable(fresh):
            raise InputError(
                "`fresh` must be a model or a function that makes one, got "
                f"{type(fresh).__name__}"
            )
        fresh = built_network(fresh, generator)
    check_values(fresh)
    return named_state(unwrapped(fresh))


def built_network(
    build: Factory,
    generator: torch.Generator,
    name: str = "fresh",
) -> nn.Module:
    """Return the network that a user's function makes, with every global generator seeded.

    Args:
        build: The function.
        generator: Source of the seed.
        name: The name of the function, for messages.

    Raises:
        InputError: The function fails, or returns no model.
    """
    try:
        with no_exit(), every_global_stream(generator):
            network = build()
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{name}() raised {described(error)}: it must make a model"
        ) from error
    if not isinstance(network, nn.Module):
        raise InputError(f"{name}() must return a model, got {type(network).__name__}")
    check_values(network)
    return network


def _reset_of(module: nn.Module) -> Callable[[], object] | None:
    """Return a module's own method that draws fresh values, None if it has none."""
    # Only nn.MultiheadAttention spells it with an underscore.
    private = getattr(module, "_reset_parameters", None)
    return getattr(module, "reset_parameters", None) or private


def _by_murata(module: nn.Module, rule: Rule) -> bool:
    """Return whether the rule of Murata 2020 writes a module: convolutions and dense layers."""
    # A parametrized layer computes its weight from other parameters, which only it can
    # fill.
    weighted = "weight" in dict(module.named_parameters(recurse=False))
    return (
        rule == "murata" and weighted and isinstance(module, _CONVOLUTIONS | nn.Linear)
    )


def _fill(
    module: nn.Module, rule: Rule, generator: torch.Generator, kept: Collection[int]
) -> None:
    """Draw fresh values for one module by the rule, or by its own method that resets it.

    Nothing happens if it has no such method, or if all parameters and buffers that it
    holds itself, not through other modules, are kept. kept: their ids.
    """
    tensors = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
    if all(id(tensor) in kept for tensor in tensors):
        return
    if _by_murata(module, rule):
        weight = module.get_parameter("weight")
        # He et al. 2015: variance 2 over the inputs of a unit; weight: (out, in, ...).
        std = 0.01 if isinstance(module, nn.Linear) else (2 / weight[0].numel()) ** 0.5
        normal = torch.randn(
            weight.shape, generator=generator, dtype=torch.float32, device="cpu"
        )
        weight.copy_(normal * std)
        if isinstance(module.bias, Tensor):
            module.bias.zero_()
    elif reset := _reset_of(module):
        with every_global_stream(generator):
            reset()
