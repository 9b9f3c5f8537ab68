"""Costs of learning a task: bytes of parameters and samples, and multiply-adds.

Diaz-Rodriguez 2018 and Kemker 2018 compare learners by these, see
`probe.metrics.diaz_rodriguez`.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode, _FlopCounterMode, conv_flop_count

from probe.batch import first, mapped
from probe.examples import Examples
from probe.modules import copied
from probe.seeding import global_stream, stream


class _Uncompiled(_FlopCounterMode):
    """Torch's counting of calls, without its check for compiled models.

    That check would import torch's compiler.
    """

    __torch_dispatch__ = unwrap(_FlopCounterMode.__torch_dispatch__)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


def ops_counter(
    formulas: dict[Any, Any] | None = None,
) -> tuple[FlopCounterMode, _FlopCounterMode]:
    """Return torch's counter of floating-point operations over all modules.

    Use the returned mode as the context in which it counts. As a context itself, the
    counter would track the modules, which fails at a parameter's view without
    gradients.

    Args:
        formulas: Formulas by operation, in place of torch's.

    Returns:
        The counter, and the mode.

    >>> counter, mode = ops_counter()
    >>> with torch.no_grad(), mode:
    ...     _ = nn.Linear(3, 5)(torch.zeros(2, 3))
    >>> counter.get_total_flops()
    60
    """
    counter = FlopCounterMode(display=False, custom_mapping=formulas)
    # Torch's own imports its compiler when it is first called, which takes a second.
    kind = _FlopCounterMode if "torch._dynamo" in sys.modules else _Uncompiled
    return counter, kind(counter)


class OpsMeter:
    """A meter of multiply-adds of matrix products and convolutions, forward and backward.

    torch's FlopCounterMode counts them (two floating-point operations each) as they
    run; a step of a size seen before is taken to cost the same. Elementwise work is
    added by formula with `add`.

    Attributes:
        total: The number of multiply-adds so far.
        steps: The number of steps so far.

    >>> meter = OpsMeter()
    >>> with meter.once():
    ...     _ = torch.zeros(2, 3) @ torch.zeros(3, 5)
    >>> meter.total
    30
    """

    def __init__(self) -> None:
        self.total = 0
        self.steps = 0
        self._ops_of_size: dict[int, int] = {}

    @contextmanager
    def step(self, size: int) -> Iterator[None]:
        """Count a training step on a batch of that size."""
        # Counting slows a step down: each size is counted once.
        if size in self._ops_of_size:
            yield
            self.total += self._ops_of_size[size]
        else:
            before = self.total
            with self.once():
                yield
            self._ops_of_size[size] = self.total - before
        self.steps += 1

    @contextmanager
    def once(self) -> Iterator[None]:
        """Count everything that runs within the block."""
        counter, counting = ops_counter(_FORMULAS)
        with counting:
            yield
        self.total += counter.get_total_flops() // 2

    def add(self, ops: int) -> None:
        """Add multiply-adds known by formula."""
        self.total += ops


def _convolution_backward(*inputs: Any, out_shape: object) -> int:
    """Return the operations of a convolution's two gradients, each as many as the forward pass.

    torch's own formula ignores that a group only sees its own channels. Per-example
    gradients, which are one grouped convolution, would be counted once for each example
    too often.
    """
    # Tensors come as their shapes.
    grad_output, x, weight, *_, transposed, _, _, output_mask = inputs
    forward = int(
        conv_flop_count(
            list(x),
            list(weight),
            list(grad_output),
            transposed,
        )
    )
    return forward * sum(map(bool, output_mask[:2]))


# In place of one of torch's formulas; all others stay torch's.
_FORMULAS = {torch.ops.aten.convolution_backward: _convolution_backward}


def one_pass_ops(model: nn.Module, examples: Examples, batch_size: int) -> int:
    """Count the multiply-adds of one forward and backward pass of the model over N examples.

    They are counted on one batch and scaled. A copy of the model is run with its own
    random generator.

    Args:
        model: The model.
        examples: The examples, x (N, ...) and y (N,), on the model's device.
        batch_size: The batch size.

    Returns:
        The multiply-adds.
    """
    size = min(batch_size, len(examples))
    meter = OpsMeter()
    twin = copied(model).eval()
    with torch.enable_grad(), global_stream(stream(0, "ops")), meter.once():
        scores = twin(mapped(first(examples.x, size), Tensor.clone))
        functional.cross_entropy(scores, examples.y[:size]).backward()
    return meter.total * len(examples) // size


def bytes_of(tensors: Iterable[Tensor]) -> int:
    """Return the bytes of the elements of tensors, without the rest of their storages.

    >>> bytes_of([torch.zeros(3), torch.zeros(2, dtype=torch.int64)])
    28
    """
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
