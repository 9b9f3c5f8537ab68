"""The two networks of a comparison, in memory or in files."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from probe.cut.model_call import Call
from probe.errors import InputError
from probe.immutable import immutable
from probe.model import Model
from probe.modules import (
    check_model,
    check_network,
    check_not_quantized,
    check_values,
    copied,
    named_state,
    unwrapped,
)
from probe.record.state_files import fit_state, load_state
from probe.rewinding.scoring import on_same_device
from probe.seeding import stream
from probe.training.fresh_weights import built_network

_SWITCHES = ("disable_adapter_layers", "disable_adapters")
"""Methods that turn adapters off, of PEFT's and of transformers' models."""

Source = nn.Module | str | Path | Model
"""A network, or the file of its weights."""


@immutable(eq=False)
class TwoModels:
    """Copies of the networks before and after, in eval mode, and their call.

    Attributes:
        before: The network before.
        after: The network after.
        model: The call.
        notes: Notes on files.
        is_adapted: Whether the network before is that after without its adapters.
    """

    before: nn.Module
    after: nn.Module
    model: Model
    notes: tuple[str, ...] = ()
    is_adapted: bool = False

    @classmethod
    def open(
        cls, before: Source | None, after: Source, call: Call | None = None
    ) -> "TwoModels":
        """Open two networks.

        Args:
            before: The network before; None = that after without its adapters.
            after: The network after. A `Model` says how to call and to build both.
            call: The call of both, in place of that of the `Model`.

        Raises:
            InputError: A file cannot be loaded, or the networks do not fit each other.
        """
        model = next(
            (side for side in (after, before) if isinstance(side, Model)), Model(None)
        )
        if call is not None:
            model = replace(model, call=call)
        if model.task_aware:
            raise InputError(
                "diff has no task ids: give call=lambda model, x: ..., without a task"
            )
        last, notes = _network(after, model, "after")
        if before is None:
            first = without_adapters(last)
        else:
            first, of_file = _network(before, model, "before")
            notes += of_file
        for network, name in ((first, "before"), (last, "after")):
            check_network(network, f"the network {name}")
            check_not_quantized(network.state_dict(), f"the network {name}")
        missing = sorted(named_state(first).keys() - named_state(last).keys())
        if missing:
            raise InputError(
                f"the network before has {missing[0]!r}, which that after lacks: give "
                "networks of one architecture"
            )
        return cls(
            before=on_same_device(first, last),
            after=last,
            model=model,
            notes=tuple(notes),
            is_adapted=before is None,
        )


def _network(source: Any, model: Model, name: str) -> tuple[nn.Module, list[str]]:
    """Return a network, copied or built from its file, and notes on the file."""
    if isinstance(source, Model):
        model = replace(source, call=model.call)
        source = source.network
    if isinstance(source, str | Path) and model.load is not None:
        load = partial(model.load, Path(source))
        source = built_network(load, stream(0, "build"), f"load of {source}")
    if isinstance(source, nn.Module):
        check_model(source)
        check_values(source)
        return copied(unwrapped(source)).eval(), []
    if not isinstance(source, str | Path):
        raise InputError(
            f"{name} must be a network, or a file with Model(path, fresh=build), got "
            f"{type(source).__name__}"
        )
    path = Path(source)
    if model.build is None:
        raise InputError(
            f"{path} holds weights only: give Model({str(path)!r}, fresh=build)"
        )
    network = built_network(model.build, stream(0, "build"))
    fit = fit_state(network, load_state(path, model.weights), str(path))
    return network.eval(), [f"{path}: {note}" for note in fit.notes]


def without_adapters(model: nn.Module) -> nn.Module:
    """Return a copy of a network whose adapters are turned off.

    Args:
        model: A network with adapters, as of PEFT.

    Raises:
        InputError: It has none.
    """
    copy = copied(model)
    for module in (copy, getattr(copy, "base_model", None)):
        for name in _SWITCHES:
            switch = getattr(module, name, None)
            if callable(switch):
                switch()
                return copy.eval()
    raise InputError(
        "before=None compares adapters with none, and the network has no adapters"
    )
