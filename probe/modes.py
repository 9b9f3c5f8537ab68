"""Train and eval mode, borrowed: every module gets its own flag back."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def mode(model: nn.Module, training: bool) -> Iterator[None]:
    """Put the model into train or eval mode; restore each module's own mode, also after a failure.

    >>> model = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    >>> with mode(model, training=False):
    ...     [m.training for m in model]
    [False, False]
    >>> [m.training for m in model]
    [True, False]
    """
    before = [(module, module.training) for module in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        # First by the model's own `train`, which may do more than set flags.
        model.train(before[0][1])
        for module, flag in before:
            module.training = flag
