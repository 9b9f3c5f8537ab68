"""Layers that stay as they are while the rest of a network learns."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from torch import nn

from probe.errors import InputError, check_known
from probe.modules import layer, mode, trained_of


def check_freezing(
    model: nn.Module, names: Sequence[str], freeze_from: int, n_tasks: int
) -> None:
    """Check that layers of a network can be frozen from a task on, and that others go on learning.

    Args:
        model: The network.
        names: The dotted names of the layers; an empty list always passes.
        freeze_from: The position of the first task at which they are frozen, from 1.
        n_tasks: The number of tasks.

    Raises:
        InputError: There is no such task or module, a module has no parameters, or no
            parameter is left to train.
    """
    if not names:
        return
    if freeze_from > n_tasks:
        raise InputError(
            f"freeze_from must be 1 to {n_tasks}, got {freeze_from}: name a task"
        )
    modules = dict(model.named_modules(remove_duplicate=False))
    del modules[""]
    trained = set(trained_of(model))
    for name in names:
        check_known("module", name, modules, "to freeze in the network")
        parameters = set(modules[name].parameters())
        if not parameters:
            raise InputError(
                f"freeze: {name!r} has no parameters: name a module that has some"
            )
        trained -= parameters
    if not trained:
        raise InputError(
            f"freeze: nothing is left to train beside {', '.join(names)}: name fewer"
        )


@contextmanager
def frozen(model: nn.Module, names: Sequence[str]) -> Iterator[None]:
    """Keep layers of a network bit for bit as they are within the block.

    Their parameters require no gradients, so that no optimizer has them: neither weight
    decay nor momentum moves them. They stay in eval mode even where the network is put
    into train mode: statistics of batch norm do not drift, and there is no dropout.
    Afterwards both are as before.

    Args:
        model: The network.
        names: The dotted names of the layers.

    >>> import torch
    >>> model = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2))
    >>> with frozen(model, ["0"]):
    ...     _ = model.train()(torch.ones(3, 2))
    ...     print(sum(p.requires_grad for p in model.parameters()))
    2
    >>> int(model[0].num_batches_tracked), model[0].training
    (0, True)
    """
    # The list names each module and parameter once, though a layer can be in another.
    layers = nn.ModuleList(layer(model, name) for name in names)
    trained = trained_of(layers)
    with mode(layers, training=False):
        for parameter in trained:
            parameter.requires_grad_(False)
            # The gradient of the last step of the task before, which a penalty would add
            # to.
            parameter.grad = None
        for module in layers.modules():
            # A loop calls `model.train()`, which calls `train` of every module: for these
            # it does nothing.
            vars(module)["train"] = partial(_without_change, module)
        try:
            yield
        finally:
            for module in layers.modules():
                del vars(module)["train"]
            for parameter in trained:
                parameter.requires_grad_(True)


def _without_change(module: nn.Module, _training: bool = True) -> nn.Module:
    """Return the module as it is; stands in for `module.train`."""
    return module
