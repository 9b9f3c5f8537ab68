"""A plain chain of `nn.Sequential`s needs no replay: its tail is its last links."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from probe.plan import Feature
from probe.replay import Script


def chain_tail(feature: Feature, model: nn.Module, script: Script) -> nn.Sequential | None:
    """Return the links behind the kept value, if it is one that a link of a chain returns.

    model: the copy to be trained. None if the model is no such chain, if its links give anything
    but a tensor with the examples first, or if a link behind uses again what is frozen.
    """
    if len(script.kept) != 1:
        return None
    kept = script.kept[0]
    growth = script.growth[kept]
    visits = {visit.module: visit.names for visit in feature.trace.large.visits}
    links = list(_links(model, ""))
    ends = [at for at, (name, _) in enumerate(links) if visits.get(name) == (kept,)]
    if not ends or growth.dim != 0 or growth.per[0] != 1:
        return None
    behind = links[ends[-1] + 1 :]
    if any(name.startswith(f"{link}.") for link, _ in behind for name in feature.frozen):
        return None
    return nn.Sequential(*(module for _, module in behind))


def _links(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    """Yield the links of a chain in order, opening every Sequential in it but one with hooks."""
    if type(module) is not nn.Sequential or module._forward_hooks or module._forward_pre_hooks:
        yield name, module
        return
    # Not `named_children`, which leaves out a module's second occurrence.
    for child_name, child in module._modules.items():
        if child is not None:
            yield from _links(child, f"{name}.{child_name}" if name else child_name)
