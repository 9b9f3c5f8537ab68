"""Refusals before the first training, in one sentence with the remedy."""

from collections.abc import Sequence

import torch

from probe.batch import Value, first, mapped
from probe.cut.cuts import Cuts, undisturbed
from probe.cut.feature import Feature
from probe.cut.model_call import explained
from probe.cut.split import Cut
from probe.cut.trace import Trace
from probe.errors import InputError, described
from probe.retraining import RetrainSettings
from probe.seeding import global_stream, python_generators, stream
from probe.training.fresh_weights import no_rule_for, without_rule
from probe.training.precision import products

_PAIR = 2  # examples that batch norm can be trained on


def refuse_what_no_rule_writes(features: Sequence[Feature], how: RetrainSettings) -> None:
    """Raise InputError if a rule cannot give fresh values downstream of some feature."""
    if not isinstance(how.source, str):
        return
    trace = features[0].trace
    # Parameters that all features need stay as they are, and those that nothing reads may.
    held = frozenset.intersection(*(feature.frozen for feature in features))
    if how.trainable == "as given":
        held |= trace.given_frozen
    left = [name for name in without_rule(trace.model, how.source) if name not in held]
    if refused := [name for name in left if name in trace.behind_logits]:
        raise no_rule_for(refused)


def refuse_other_rows(trace: Trace) -> None:
    """Raise InputError unless the model's output has one row for each example."""
    shape = trace.large.metadata[trace.large.logits].shape
    if shape[:1] != trace.sizes[:1]:
        raise InputError(
            f"the model's output for {trace.sizes[0]} examples has shape {shape}, expected (B, K), "
            f"one row for each example: say with call= how it is to be called"
        )


def refuse_what_it_does_not_take(cuts: Cuts, batch: Value) -> None:
    """Raise InputError if the model cannot run on a batch (B, ...), unlike the cuts' own sample."""
    trace = cuts.each[0].feature.trace
    with torch.no_grad(), undisturbed(batch), explained(batch):
        trace.logits(batch)


def refuse_untrainable(cut: Cut, size: int) -> None:
    """Raise InputError if a tail gives no gradient, or cannot take the one example of a batch.

    size: examples in a batch.
    """
    split = cut.split()
    few = first(cut.feature.trace.sample, min(size, _PAIR))
    chance = global_stream(stream(0, "check"))
    try:
        with torch.enable_grad(), products("fp32"), chance, python_generators():
            # A copy: where the model is run whole these are the user's own data.
            logits = split.tail(mapped(split.prefix(few), torch.clone))
    except Exception as error:
        if size > 1:
            return  # the training itself tells an error on a usual batch
        raise InputError(
            f"the model downstream of {cut.name!r} cannot be trained on a batch of one example "
            f"({described(error)}): give more examples and a batch_size from 2"
        ) from error
    if not logits.requires_grad:
        raise InputError(
            f"the model downstream of {cut.name!r} cannot be trained, as no gradient comes out of "
            f"it (no_grad, detach, or a checkpoint with use_reentrant=True): let it give some, "
            f"or leave this feature out"
        )
