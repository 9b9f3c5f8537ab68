"""Cuts of one model at many features: followed, planned and checked together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from probe.batch import Value, check_value, gather, tensors
from probe.cut.checks import Reference, stays_fixed
from probe.cut.feature import Feature, find
from probe.cut.model_call import Call, ModelCall, Output
from probe.cut.plan import CutPlan
from probe.cut.planning import plan_each
from probe.cut.split import Cut, Split, Trainable, chain_end, check_trainable, links_of
from probe.cut.trace import LARGE, Trace, trace
from probe.errors import Failed, InputError, described
from probe.modules import check_model, copied, frozen_in, named_state, state_groups, unwrapped
from probe.seeding import python_generators
from probe.training.precision import products

_WIDE = 256  # examples that show what a value depends on where the path depends on the data


@dataclass(frozen=True, eq=False)
class Cuts:
    """The cuts of a model at several features, in the order asked for.

    They hold a copy of the model; each `split` of a cut makes another.
    """

    each: tuple[Cut, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(cut.feature.name for cut in self.each)

    def difference(self, model: nn.Module) -> str:
        """Return where a model's modules or state differ from the cuts' own, empty if nowhere."""
        seen, model = self.each[0].feature.trace, unwrapped(model)
        before, now = _anatomy(seen.model), _anatomy(model)
        if before == now and sorted(seen.state.values()) == sorted(state_groups(model)):
            return ""
        differ = sorted(n for n in before.keys() | now.keys() if before.get(n) != now.get(n))
        return differ[0] if differ else "its ties"

    def of(self, model: nn.Module) -> Cuts:
        """Return the same cuts of another model of this architecture: other weights, same code.

        Checked is only that the parts give the new model's output bit for bit, on a few examples;
        where they do not, the model is cut anew. Raises InputError for another architecture.
        """
        if where := self.difference(model):
            raise InputError(
                f"the cuts are of another architecture, which differs at {where!r}: cut this model "
                f"itself"
            )
        seen, inner = self.each[0].feature.trace, unwrapped(model)
        with undisturbed(seen.sample):
            own = copied(inner).requires_grad_(True).eval()
            seen = replace(seen, model=own, given_frozen=frozenset(frozen_in(inner)))
            same = [replace(cut, feature=replace(cut.feature, trace=seen)) for cut in self.each]
            reference = Reference(seen, [], [cut.plan for cut in same])
            # What the user's code raises here is told by the full checks.
            with suppress(Exception):
                if all(reference.is_same(c.plan, c.split().tail) for c in same if c.plan):
                    return Cuts(tuple(same))
        return cut_found(
            find_each(model, self.features, seen.sample, seen.call), self.each[0].trained
        )


def split(
    model: nn.Module, feature: str, sample: Value, output: Output = None, call: Call | None = None
) -> Split:
    """Cut a copy of `model` at the layer `feature` so that tail(prefix(x)) equals model(x).

    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> cut = split(model, "1", torch.randn(5, 4))
    >>> cut.frozen, cut.cached
    (('0.bias', '0.weight'), True)

    feature: dotted module name, `name#2` for the second time that the module runs; sample: real
    inputs, one or more tensors (B, ...), B from 3, on which the cut is checked, bit for bit;
    output: the key or index of the logits, if the model returns more than the logits; call: a
    function that calls the model on a batch, see `ModelCall`. The model itself is not changed.

    `frozen` is W_F of Murata 2020 (section 2): the parameters, and here also the buffers, that the
    feature's value depends on, whatever the order of the layers. If a check fails, the model is
    run whole with the frozen parameters held fixed, which is slower but correct. Raises InputError
    for a feature that does not exist, does not run, or does not stay fixed while the tail trains.
    """
    return cut_each(model, [feature], sample, output, call).each[0].split()


def find_each(
    model: nn.Module, features: Sequence[str], sample: Value, call: ModelCall
) -> list[Feature]:
    """Find each of the features in a copy of `model`, followed once on `sample` (B, ...).

    Takes two forward passes of a few examples. Raises InputError for a model that cannot be
    followed and for an unknown feature; see `split`.
    """
    if isinstance(features, str) or not isinstance(features, Iterable | None):
        got = repr(features) if isinstance(features, str) else type(features).__name__
        raise InputError(f"features must be a list of names of layers, got {got}")
    features = list(features or ())
    if not features:
        raise InputError("no features to cut at: name at least one layer")
    if strange := [each for each in features if not isinstance(each, str)]:
        raise InputError(
            f"features must be names of layers, or what cut_each returned, got "
            f"{type(strange[0]).__name__} among them"
        )
    if len(set(features)) < len(features):
        raise InputError(f"a feature is named twice in {list(features)}: name each once")
    seen = followed(model, sample, call)
    return [find(seen, feature) for feature in features]


def followed(model: nn.Module, sample: Value, call: ModelCall, examples: int = LARGE) -> Trace:
    """Return the trace of a copy of `model` on `sample` (B, ...); see `trace`."""
    if torch.is_inference_mode_enabled():
        raise InputError("a model cannot be cut under torch.inference_mode(): call it outside")
    check_model(model)
    check_value(sample, "the sample")
    model = unwrapped(model)
    _refuse_odd_parts(model)
    with undisturbed(sample):
        return trace(model, sample, call, examples)


def cut_each(
    model: nn.Module,
    features: Sequence[str],
    sample: Value,
    output: Output = None,
    call: Call | None = None,
    trainable: Trainable = "tail",
) -> Cuts:
    """Cut a copy of `model` at each of the features, to use the cuts again for other weights.

    >>> build = lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> cuts = cut_each(build(), ["0", "1"], torch.randn(5, 4))
    >>> [cut.name for cut in cuts.of(build()).each]
    ['0', '1']

    Everything that depends only on the architecture is computed and checked once. See `split`;
    trainable: the parameters to train downstream of each, see `probe.Model`.
    """
    check_trainable(trainable)
    found = find_each(model, features, sample, ModelCall(call=call, output=output))
    return cut_found(found, trainable)


def cut_found(features: Sequence[Feature], trained: Trainable = "tail") -> Cuts:
    """Cut a model at features that one call of `find_each` found in it; see `cut_each`."""
    for feature in features:
        if feature.random:
            raise InputError(
                f"cannot cut at {feature.name!r}: its value is drawn at random in eval mode too, "
                f"so that nothing can be held fixed"
            )
    with undisturbed(features[0].trace.sample):
        pairs = plan_each(features)
        reference = Reference(features[0].trace, features, [plan for _, plan in pairs])
        return Cuts(tuple(_checked(feature, plan, trained, reference) for feature, plan in pairs))


def _refuse_odd_parts(model: nn.Module) -> None:
    """Raise InputError for what cannot be copied, followed or trained."""
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise InputError(
                f"{name or 'the model'} is a scripted module, which can be neither followed nor "
                f"copied: put the module that it was made from in its place"
            )
    for name, parameter in model.named_parameters():
        if is_lazy(parameter):
            raise InputError(
                f"{name!r} has no shape yet, as its module is lazy: run the model on a batch once"
            )
        if not (parameter.is_floating_point() or parameter.is_complex()):
            raise InputError(
                f"parameter {name!r} holds {parameter.dtype}, which cannot be trained: make it a "
                f"buffer, with register_buffer"
            )


@contextmanager
def undisturbed(sample: Value) -> Iterator[None]:
    """Run a model within the block in full precision, and give back what it draws."""
    whole = torch.autocast(tensors(sample)[0].device.type, enabled=False)
    with whole, products("fp32"), python_generators():
        yield


def _checked(
    feature: Feature, plan: CutPlan | str, trained: Trainable, reference: Reference
) -> Cut:
    """Serve the frozen part from a cache if that passes all checks; else hold it fixed.

    Raises InputError if neither is possible.
    """
    try:
        if isinstance(plan, str):
            raise Failed(plan)
        return _compared(Cut(feature=feature, trained=trained, plan=plan), plan, reference)
    except Failed as failure:
        slow = str(failure)
    except Exception as error:  # the user's code, run in a way that it was not written for
        slow = f"replaying it fails ({described(error)})"
    try:
        return run_whole(Cut(feature=feature, trained=trained), slow)
    except InputError:
        # The code around it may be what moves it in training mode.
        why = "its value changes in training mode"
        calmer = Cut(feature=replace(feature, around=why), trained=trained)
        with suppress(InputError):
            return run_whole(calmer, slow)
        raise


def cut_anew(cut: Cut, reason: str) -> Cut:
    """Return another cut at the feature, where a batch took another path than when it was made.

    First with the code around the feature in eval mode, as chance may choose the path in training
    mode; then with nothing cached. reason: the end of a sentence.
    """
    feature = cut.feature
    if feature.around:
        return run_whole(cut, reason)
    with undisturbed(feature.trace.sample):
        [(calmer, plan)] = plan_each([replace(feature, around=reason)])
        reference = Reference(feature.trace, [calmer], [plan])
        return _checked(calmer, plan, cut.trained, reference)


def run_whole(cut: Cut, slow: str) -> Cut:
    """Return the cut with nothing cached: the model is run whole, what is frozen held fixed.

    slow: why, the end of a sentence. Raises InputError if it does not stay fixed.
    """
    with undisturbed(cut.feature.trace.sample):
        whole = Cut(feature=cut.feature, trained=cut.trained, slow=slow)
        stays_fixed(cut.feature, whole.whole(), slow)
    return whole


def seen_widely(cut: Cut, x: Value) -> Cut:
    """Return a cut that runs the model whole, with its feature found again on examples from all x.

    Where the path through a model depends on the data, as in a mixture of experts, a few examples
    need not show all that a value depends on, and what they do not show would be retrained. Raises
    InputError as `run_whole` does.
    """
    seen, n = cut.feature.trace, len(tensors(x)[0])
    at = torch.linspace(0, n - 1, min(n, _WIDE), device=tensors(x)[0].device).long()
    wide = followed(seen.model, gather(x, at), seen.call, len(at))
    wide = replace(wide, given_frozen=seen.given_frozen)
    feature = replace(find(wide, cut.name), around=cut.feature.around)
    if feature.frozen == cut.feature.frozen:
        return cut
    return run_whole(replace(cut, feature=feature), cut.slow)


def _compared(cut: Cut, plan: CutPlan, reference: Reference) -> Cut:
    """Return the cut with the simpler tail if that will do; raises Failed if neither does."""
    if not reference.repeats:
        raise Failed(
            "the model gives different outputs for the same input in eval mode (by a generator or "
            "a state of its own), so that its score is of a single draw"
        )
    tail = cut.whole()
    if not reference.is_same(plan, tail):
        raise Failed("its two parts together do not give the model's output")
    reference.same_training(cut.feature, plan, tail)
    chain = chain_end(cut.feature, plan)
    if chain is not None and not reference.is_same(
        plan, nn.Sequential(*links_of(tail.model)[chain:])
    ):
        chain = None
    if not reference.stays(cut.feature, plan):
        raise Failed("its value depends on something that torch's functions do not show")
    return replace(cut, chain=chain)


def _anatomy(model: nn.Module) -> dict[str, object]:
    found: dict[str, object] = {name: type(module) for name, module in model.named_modules()}
    state = named_state(model).items()
    return found | {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in state}
