"""Penultimate features phi(x): the input of a network's last dense layer."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from probe.errors import InputError
from probe.examples import Examples
from probe.modules import kept_buffers, mode
from probe.seeding import global_stream, stream
from probe.training.evaluation import batch_size_on
from probe.training.precision import products


def penultimate(model: nn.Module, x: Tensor) -> Tensor:
    """Return phi(x) (B, D), the input of the layer whose output is the logits.

    The layer is the last one with a weight matrix, usually a dense layer; layers after it (Flatten,
    Identity, an activation) are skipped, and inputs of more dimensions are flattened.

    Args:
        model: The model, which keeps its mode.
        x: A batch, (B, ...).

    Returns:
        phi(x).

    Raises:
        InputError: The output does not come from such a layer through layers of one input each.

    >>> model = nn.Sequential(nn.Flatten(), nn.ReLU(), nn.Linear(4, 2), nn.Identity())
    >>> penultimate(model, torch.tensor([[[1.0, -1.0], [-2.0, 3.0]]])).tolist()
    [[1.0, 0.0, 0.0, 3.0]]
    """
    # By tensor: the features that it was computed from by layers without weights. Weak, as the id
    # of a tensor that is gone may be that of another, and none is to outlive its use.
    before = WeakTensorKeyDictionary()

    def note(module: nn.Module, inputs: tuple[object, ...], output: object) -> None:
        if isinstance(output, Tensor) and len(inputs) == 1 and isinstance(inputs[0], Tensor):
            # Norms have weights too, but vectors: they tell no classes apart.
            matrix = any(p.ndim > 1 for p in module.parameters())
            features = inputs[0] if matrix else before.get(inputs[0])
            if features is not None:
                before[output] = features

    with ExitStack() as hooks:
        for module in model.modules():
            # A dense layer under a parametrization (weight norm) has children.
            if isinstance(module, nn.Linear) or not any(True for _ in module.children()):
                hooks.callback(module.register_forward_hook(note).remove)
        logits = model(x)
    features = before.get(logits) if isinstance(logits, Tensor) else None
    if features is None or len(features) != len(logits):
        raise InputError("the model must return what its last layer (such as nn.Linear) gives")
    return torch.flatten(features, 1)


def penultimate_of(model: nn.Module, examples: Examples) -> Tensor:
    """Return phi(x) of N examples, in eval mode and without gradients.

    Args:
        model: The model.
        examples: The examples, x (N, ...).

    Returns:
        (N, D).
    """
    return in_batches(partial(penultimate, model), model, examples)


def in_batches(
    function: Callable[[Tensor], Tensor], model: nn.Module, examples: Examples
) -> Tensor:
    """Apply a function to N examples in batches, with the model in eval mode.

    Buffers are restored, and the model has a random generator of its own.

    Args:
        function: Maps a batch (B, ...) to (B, ...).
        model: The model that the function uses.
        examples: The examples, (N, ...).

    Returns:
        The results, (N, ...).
    """
    chance, evaluating = global_stream(stream(0, "features")), mode(model, training=False)
    with torch.no_grad(), products("fp32"), evaluating, kept_buffers(model), chance:
        # A copy: a model may write into its input.
        parts = examples.x.split(batch_size_on(examples.y.device))
        return torch.cat([function(x.clone()) for x in parts])
