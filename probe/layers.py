"""The layers of a model by their dotted names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from probe.errors import unknown


def layer(model: nn.Module, name: str) -> nn.Module:
    """Return the module of that dotted name; raises InputError suggesting the nearest names."""
    modules: dict[str, nn.Module] = dict(model.named_modules(remove_duplicate=False))
    if not name or name not in modules:
        raise unknown("feature", name, (known for known in modules if known))
    return modules[name]


@contextmanager
def tap(
    model: nn.Module, names: Iterable[str], receive: Callable[[str, object], None]
) -> Iterator[None]:
    """Within the block, call `receive(name, output)` each time a named layer has run.

    The output is the live object: an in-place operation that follows will overwrite it, so copy
    what is to be kept. A layer called twice is received twice. The hooks are gone after the block,
    also after a failure.

    >>> import torch
    >>> model = nn.Sequential(nn.Flatten(), nn.ReLU())
    >>> with tap(model, ["1"], lambda name, output: print(name, tuple(output.shape))):
    ...     _ = model(torch.zeros(2, 3, 4))
    1 (2, 12)
    """
    handles = []
    try:
        for name in names:
            hook = _hook(name, receive)
            handles.append(layer(model, name).register_forward_hook(hook))
        yield
    finally:
        for handle in handles:
            handle.remove()


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the model inside wrappers such as `DataParallel` and `torch.compile`.

    >>> unwrapped(nn.DataParallel(nn.ReLU()))
    ReLU()
    """
    while True:
        name = next((n for n, kinds in _WRAPPERS.items() if type(model).__name__ in kinds), None)
        if name is None:
            return model
        model = model.get_submodule(name)


def named_state(model: nn.Module) -> dict[str, Tensor]:
    """Return every parameter and buffer by name, under each of its names if it is used twice."""
    return {
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers(remove_duplicate=False)),
    }


def _hook(
    name: str, receive: Callable[[str, object], None]
) -> Callable[[nn.Module, object, object], None]:
    return lambda module, inputs, output: receive(name, output)


# By their names: to import them is slow, and some builds of torch lack them.
_WRAPPERS = {
    "module": {"DataParallel", "DistributedDataParallel", "AveragedModel"},
    "_orig_mod": {"OptimizedModule"},
}
