"""The first idea: cut a model into a prefix and a tail, so that tail(prefix(x)) == model(x)."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from probe.cut import checks
from probe.cut.eval_mode import PartlyEval
from probe.cut.feature import Feature, find
from probe.cut.outputs import Output
from probe.cut.plan import CutPlan
from probe.cut.replay import Prefix, Replay, collect
from probe.cut.trace import trace
from probe.errors import Failed, InputError
from probe.examples import Value
from probe.modules import named_state, unwrapped
from probe.seeding import python_generators
from probe.training.fresh_weights import Fresh, fresh_state, initialize
from probe.training.precision import products

Trainable = Literal["tail", "as given"]
"""What is trained behind a feature: all of the tail, or of it what the user has not frozen."""


@dataclass(frozen=True, eq=False)
class Split:
    """A copy of a model, cut at a feature: tail(prefix(x)) is model(x), bit for bit.

    - prefix: maps inputs x (B, ...) to what the tail needs, one tensor (B, ...) or a tuple of them;
      always in eval mode and without gradients;
    - tail: maps that to the logits (B, K); it is what is re-initialized and trained;
    - frozen: names, in the model, of the parameters and buffers that the feature's value depends
      on, which no training of the tail moves;
    - trainable: whether the output depends on any parameter that is trained in the tail; behind
      the model's own output there is none;
    - slow: why the model could not be cut, empty if it was. If it was not, the prefix hands its
      input on, and the tail is the whole model with what is frozen held fixed.
    """

    feature: str
    prefix: nn.Module
    tail: nn.Module
    frozen: tuple[str, ...]
    trainable: bool
    slow: str = ""
    _fresh: Mapping[str, Tensor] = field(default_factory=dict, repr=False)
    _kept: frozenset[str] = field(default=frozenset(), repr=False)
    _unread: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def cached(self) -> bool:
        """Whether the prefix computes what is frozen, so that its values can be kept."""
        return not self.slow

    @torch.no_grad()
    def reinitialize(self, fresh: Fresh, generator: torch.Generator) -> None:
        """Give everything in the tail that is not frozen a fresh value; see `Fresh`.

        A state's values are taken by their names in the model; what it does not hold stays. By a
        rule, parameters that the model never reads stay if it does not write them.
        """
        if isinstance(fresh, str):
            initialize(self.tail, fresh, generator, keep=self._kept, unread=self._unread)
            return
        state = fresh_state(fresh, generator)
        for name in self._fresh.keys() & state.keys():
            self._fresh[name].copy_(state[name])


def split(model: nn.Module, feature: str, sample: Tensor, output: Output = None) -> Split:
    """Cut a copy of `model` at the layer `feature` so that tail(prefix(x)) equals model(x).

    feature: dotted module name, `name#2` for the second time that the module runs; sample: (B, ...)
    real inputs, B from 3, on which the cut is checked, bit for bit; output: where in what the model
    returns the logits are, if it does not return them alone. The model itself is not changed.

    Frozen is W_F of Murata 2020 (section 2), the parameters that the feature is computed with; it
    is taken from what the computation depends on, not from the order of layers, and takes buffers
    in. Where a check fails the model is run whole with the frozen part fixed, which is slower and
    as right. Raises InputError for a feature that does not exist, does not run, or does not stay
    fixed while the tail is trained.

    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> cut = split(model, "1", torch.randn(5, 4))
    >>> cut.frozen, cut.cached
    (('0.bias', '0.weight'), True)
    """
    return split_each(find_each(model, [feature], sample, output))[0]


def find_each(
    model: nn.Module, features: Sequence[str], sample: Tensor, output: Output = None
) -> list[Feature]:
    """Find each of the features in a copy of `model`, followed once on `sample` (B, ...).

    That says what each depends on, and costs two forward passes of a few examples. Raises
    InputError for a model that cannot be followed and for an unknown feature; see `split`.
    """
    if not isinstance(sample, Tensor):
        raise InputError(f"the sample must be a tensor (B, ...), got {type(sample).__name__}")
    if torch.is_inference_mode_enabled():
        raise InputError("a model cannot be cut under torch.inference_mode(): call it outside")
    with _undisturbed(sample):
        seen = trace(unwrapped(model), sample, output)
        return [find(seen, feature) for feature in features]


def split_each(features: Sequence[Feature], trainable: Trainable = "tail") -> list[Split]:
    """Cut the model at each of its features, found by one call of `find_each`; see `split`."""
    if not features:
        return []
    with _undisturbed(features[0].trace.sample):
        return [_cut(feature, trainable) for feature in features]


@contextmanager
def _undisturbed(sample: Tensor) -> Iterator[None]:
    """Run a model within the block in full precision, and give back what it draws."""
    whole = torch.autocast(sample.device.type, enabled=False)
    with whole, products("fp32"), python_generators():
        yield


def values_of(cuts: Sequence[Split], batch: Tensor) -> dict[str, Value]:
    """Return what each prefix gives for a batch (B, ...), by feature; one pass for all of them.

    The cuts must come from one call of `split_each`; those that are not cached hand on the batch.
    Each value is a tensor (B, ...) or a tuple of them.

    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> cuts = split_each(find_each(model, ["0", "1"], torch.randn(5, 4)))
    >>> {name: tuple(value.shape) for name, value in values_of(cuts, torch.randn(7, 4)).items()}
    {'0': (7, 3), '1': (7, 3)}
    """
    prefixes = [cut.prefix for cut in cuts if isinstance(cut.prefix, Prefix)]
    wanted = {name for prefix in prefixes for name in prefix.plan.kept}
    found = collect(prefixes[0].trace, wanted, batch) if prefixes else {}
    return {
        cut.feature: cut.prefix.rows(found) if isinstance(cut.prefix, Prefix) else batch
        for cut in cuts
    }


def _cut(feature: Feature, trainable: Trainable) -> Split:
    """Serve what is frozen from a cache if that passes all checks; else hold it fixed.

    Raises InputError if it can neither be served nor held fixed.
    """
    if feature.random:
        raise InputError(
            f"cannot cut at {feature.name!r}: its value is drawn at random in eval mode too, so "
            f"that nothing can be held fixed"
        )
    try:
        return _replayed(feature, trainable)
    except Failed as failure:
        slow = str(failure)
    except Exception as error:  # the user's code, run in a way that it was not written for
        slow = f"replaying it fails ({type(error).__name__}: {error})"
    whole = _whole(feature, trainable)
    checks.stays_fixed(feature, whole, slow)
    return _split(feature, trainable, (nn.Identity(), whole, whole), slow)


def _replayed(feature: Feature, trainable: Trainable) -> Split:
    """Return the model cut at the feature; raises Failed, saying which check it fails."""
    whole = _whole(feature, trainable)
    plan = checks.plan_unmixed(feature, whole.model, set(), set())
    checks.unmoved_by_the_rest(feature, plan)
    prefix = Prefix(feature.trace, plan)
    tail: nn.Module = Replay(whole.model, feature.eval_calls, whole.output, plan)
    checks.same_computation(feature, prefix, tail, whole)
    links = chain_tail(feature, whole.model, plan) if whole.output is None else None
    if links is not None and checks.is_same(prefix, links):
        tail = links
    return _split(feature, trainable, (prefix, tail, whole))


def _held(feature: Feature, trainable: Trainable) -> frozenset[str]:
    """Return the names of what is neither trained nor re-initialized in the tail."""
    given = feature.trace.given_frozen if trainable == "as given" else frozenset[str]()
    return feature.frozen | given


def _whole(feature: Feature, trainable: Trainable) -> PartlyEval:
    """Return a copy of the model in training mode, with what the feature needs held fixed."""
    own, output = copy.deepcopy(feature.trace.model), feature.trace.output
    # What is frozen asks for no gradient, and its modules stay in eval mode: see `PartlyEval`.
    whole = PartlyEval(own, feature.eval_calls, output)
    state, held = named_state(own).items(), _held(feature, trainable)
    frozen = {id(tensor) for name, tensor in state if name in held}
    for parameter in whole.parameters():
        parameter.requires_grad_(id(parameter) not in frozen)
    return whole.train()


def _split(
    feature: Feature,
    trainable: Trainable,
    parts: tuple[nn.Module, nn.Module, PartlyEval],
    slow: str = "",
) -> Split:
    """Put a cut together; parts: prefix, tail, and the whole model that the tail is made of."""
    prefix, tail, whole = parts
    held = _held(feature, trainable) | feature.eval_buffers
    # Of several names of a tensor the first.
    own = {id(tensor): name for name, tensor in reversed(named_state(tail).items())}
    in_model = named_state(whole.model)
    fresh = {n: t for n, t in in_model.items() if n not in held and id(t) in own}
    parameters = dict(whole.model.named_parameters(remove_duplicate=False)).keys()
    # What nothing reads needs no rule.
    unread = {own[id(t)] for n, t in fresh.items() if n not in feature.trace.behind_logits}
    return Split(
        feature=feature.name,
        prefix=prefix,
        tail=tail,
        frozen=tuple(sorted(feature.frozen)),
        trainable=bool((feature.trace.behind_logits - held) & fresh.keys() & parameters),
        slow=slow,
        _fresh=fresh,
        # A chain's tail holds nothing of what is frozen, so nothing of it is to be left alone.
        _kept=frozenset(own[id(in_model[n])] for n in held if id(in_model.get(n)) in own),
        _unread=frozenset(unread),
    )


def chain_tail(feature: Feature, model: nn.Module, plan: CutPlan) -> nn.Sequential | None:
    """Return the links behind the kept value, if it is one that a link of a chain returns.

    Such a tail does what a replay does, without its cost in every call. model: the copy to be
    trained. None if the model is no such chain, if its links give anything but a tensor with the
    examples first, or if a link behind uses again what is frozen.
    """
    if len(plan.kept) != 1:
        return None
    kept = plan.kept[0]
    shape = plan.shapes[kept]
    visits = {visit.module: visit.names for visit in feature.trace.large.visits}
    links = list(_links(model, ""))
    # The first of them: a link may hand on the very value that it is given, and remember it.
    ends = [at for at, (name, _) in enumerate(links) if visits.get(name) == (kept,)]
    if not ends or shape.dim != 0 or shape.per[0] != 1:
        return None
    behind = links[ends[0] + 1 :]
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
