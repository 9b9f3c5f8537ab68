"""The features of a network to measure: those that were named, or a suggested set."""

from collections.abc import Sequence

import torch
from torch import nn

from probe.batch import Value, tensors
from probe.cut.candidates import candidates
from probe.cut.cuts import find_each
from probe.cut.model_call import ModelCall, explained
from probe.errors import InputError, described

OUTPUT = "output"
"""The name of the output of a network, unless a module gives the logits."""


def features_of(
    model: nn.Module, call: ModelCall, x: Value, classes: int, chosen: Sequence[str] | None
) -> tuple[str, ...]:
    """Return a network's features by depth, the output last.

    Args:
        model: The network.
        call: The call that gives its logits.
        x: A few examples (B, ...).
        classes: K.
        chosen: Names, None = the suggested ones (`probe.cut.candidates`).

    Raises:
        InputError: The network cannot be called on the data, has another number of outputs, or
            lacks a chosen feature.
    """
    with torch.no_grad(), explained(x):
        try:
            outputs = call(model.eval(), x).shape
        except SystemExit as error:  # a model does not end this process
            raise RuntimeError(described(error)) from error
    if tuple(outputs) != (len(tensors(x)[0]), classes):
        raise InputError(
            f"its output for {len(tensors(x)[0])} examples has shape {tuple(outputs)}, expected "
            f"one logit for each of {classes} classes: build it with as many outputs, or name "
            f"those of the classes"
        )
    if chosen is None:
        suggested = [c for c in candidates(model, x, call.output, call.call) if c.suggested]
        names = [(candidate.feature, bool(candidate.left)) for candidate in suggested]
    else:
        facts = [cut.facts for cut in find_each(model, chosen, x, call, "tail")]
        ordered = sorted(facts, key=lambda cut: cut.position)
        names = [(cut.name, bool(cut.trained)) for cut in ordered]
    earlier = [name for name, left in names if left]
    ends = [name for name, left in names if not left]
    if not earlier:
        raise InputError("no feature has parameters downstream of it to retrain: name earlier ones")
    if chosen is not None and len(ends) > 1:
        raise InputError(
            f"nothing is left to retrain downstream of {' and '.join(ends)}: they all stand for "
            f"the output of the network, so name one of them at most"
        )
    # A module named "output" that is not the output must not be mistaken for it.
    free = next(name for name in (OUTPUT, "logits", "the output") if name not in earlier)
    return (*earlier, (ends or [free])[-1])
