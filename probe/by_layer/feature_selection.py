"""The features of a network to measure: the user's choice, or a suggested set."""

from collections.abc import Sequence

import torch
from torch import nn

from probe.batch import Value, length
from probe.cut.candidates import suggestions
from probe.cut.cuts import find_each
from probe.cut.model_call import ModelCall, explained
from probe.errors import InputError, described
from probe.training.evaluation import ONE_OUTPUT

OUTPUT = "output"
"""The name of the output of a network, unless a module gives the logits."""


def features_of(
    model: nn.Module,
    call: ModelCall,
    x: Value,
    classes: int,
    chosen: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return a network's features by depth, the output last.

    Args:
        model: The network.
        call: The call that gives its logits.
        x: A few examples (B, ...).
        classes: Number of classes K.
        chosen: Names of features, None = the suggested ones (`probe.cut.candidates`).

    Raises:
        InputError: The network cannot be called on the data, has the wrong number of
            outputs, or lacks a chosen feature.
    """
    _check_output(model, call, x, classes)
    # Whether parameters are trained downstream, by name, in the order of depth.
    if chosen is None:
        names = suggestions(model, x, call)
    else:
        facts = [cut.facts for cut in find_each(model, chosen, x, call, "tail")]
        facts.sort(key=lambda cut: cut.position)
        names = {cut.name: bool(cut.trained) for cut in facts}
    for name in names:
        if name != name.encode(errors="replace").decode():
            raise InputError(f"{name!a} is not valid Unicode: rename the module")
    earlier = [name for name, downstream in names.items() if downstream]
    ends = [name for name in names if not names[name]]
    if not earlier:
        raise InputError(
            "no feature has parameters downstream of it to retrain: name earlier ones"
        )
    if chosen is not None and len(ends) > 1:
        raise InputError(
            f"{' and '.join(ends)} all stand for the output: name only one of them"
        )
    # A module named "output" that is not the output must not be mistaken for it.
    unused_name = next(
        name for name in (OUTPUT, "logits", "the output") if name not in earlier
    )
    return (*earlier, (ends or [unused_name])[-1])


def _check_output(model: nn.Module, call: ModelCall, x: Value, classes: int) -> None:
    """Raise InputError if the outputs are not (B, K), or the network cannot be called."""
    with torch.no_grad(), explained(x):
        try:
            outputs = call(model.eval(), x).shape
        except SystemExit as error:  # a model does not end this process
            raise RuntimeError(described(error)) from error
    expected = (length(x), classes)
    if (*outputs[-1:], classes) == (1, 2):
        raise InputError(ONE_OUTPUT)
    if tuple(outputs) != expected:
        raise InputError(
            f"its output has shape {tuple(outputs)}, expected {expected}, a logit for "
            "each class: build it with one each, name the output that holds them, or "
            "Model(..., classes=[...])"
        )
