"""Cuts of a model into a prefix and a tail, so that tail(prefix(x)) == model(x)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from probe.batch import Value, mapped
from probe.cut.eval_mode import PartlyEval
from probe.cut.feature import Feature
from probe.cut.model_call import ModelCall
from probe.cut.plan import CutPlan
from probe.cut.replay import Prefix, Replay, collect, full_precision, one_pass
from probe.errors import unknown
from probe.modules import copied, forget, named_state
from probe.training.fresh_weights import Fresh, fresh_state, initialize

Trainable = Literal["tail", "as given"]
"""The parameters to train downstream of a feature: all, or those that the user has not frozen."""


def check_trainable(trained: str) -> None:
    """Raise InputError for an unknown choice of what is trained."""
    if trained not in get_args(Trainable):
        raise unknown("choice of what is trainable", trained, get_args(Trainable))


@dataclass(frozen=True, eq=False)
class Split:
    """A copy of a model, cut at a feature: tail(prefix(x)) is model(x), bit for bit.

    - prefix: maps inputs x (B, ...) to the tail's input, one tensor (B, ...) or several;
      always in eval mode and without gradients;
    - tail: maps the prefix's output to the logits (B, K); the tail is re-initialized and trained;
    - frozen: names, in the model, of the parameters and buffers that the feature's value depends
      on, which no training of the tail changes;
    - trainable: whether the output depends on any parameter that is trained in the tail; at the
      model's own output there is none;
    - slow: why the model could not be cut, empty if it was. If not, the prefix is the identity,
      and the tail is the whole model with the frozen part held fixed;
    - around: whether the code of the modules around the feature stays in eval mode too, as in
      training mode it would change the feature or the way in which it is computed;
    - fresh_values: the tensors that are re-initialized, of any shape, by their names in the model.
    """

    feature: str
    prefix: nn.Module
    tail: nn.Module
    frozen: tuple[str, ...]
    trainable: bool
    slow: str = ""
    around: bool = False
    fresh_values: Mapping[str, Tensor] = field(default_factory=dict, repr=False)
    _kept: frozenset[str] = field(default=frozenset(), repr=False)
    _unread: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def cached(self) -> bool:
        """Whether the prefix computes what is frozen, so that its values can be kept."""
        return not self.slow

    @torch.no_grad()
    def reinitialize(self, fresh: Fresh, generator: torch.Generator) -> None:
        """Give everything in the tail that is not frozen a fresh value; see `Fresh`.

        Values of a state are taken by their names in the model; what it lacks stays. Parameters
        that the model never reads stay if a rule does not write them.
        """
        if isinstance(fresh, str):
            initialize(self.tail, fresh, generator, keep=self._kept, unread=self._unread)
            return
        state = fresh_state(fresh, generator)
        for name in self.fresh_values.keys() & state.keys():
            own = self.fresh_values[name]
            # A buffer of another shape holds what the model has worked out for its inputs' size.
            if own.shape == state[name].shape or isinstance(own, nn.Parameter):
                own.copy_(state[name])


@dataclass(frozen=True, eq=False, kw_only=True)
class Cut:
    """A planned and checked cut; `split` makes its two parts.

    - feature: with the trace of the model that is cut;
    - plan: of prefix and tail, None if the model has to be run whole: slow says why;
    - trained: which parameters are trained in the tail;
    - chain: how many links of a chain come before the tail, None if the model is no chain.
    """

    feature: Feature
    trained: Trainable
    plan: CutPlan | None = None
    slow: str = ""
    chain: int | None = None

    @property
    def name(self) -> str:
        """The feature's name."""
        return self.feature.name

    @property
    def trainable(self) -> bool:
        """Whether the logits depend on any parameter that is trained in the tail."""
        return self.feature.trace.trains(self.held)

    @property
    def held(self) -> frozenset[str]:
        """Names of the parameters and buffers of the tail that stay as they are."""
        given = self.feature.trace.given_frozen if self.trained == "as given" else frozenset[str]()
        return self.feature.frozen | self.feature.eval_buffers | given

    @cached_property
    def prefix(self) -> nn.Module:
        """The module that computes the kept values; it hands on its input where there are none."""
        return nn.Identity() if self.plan is None else Prefix(self.feature.trace, self.plan)

    def whole(self) -> PartlyEval:
        """Return a copy of the model in training mode, its frozen part held fixed.

        Unless the cut is slow, the copy takes kept values in place of inputs.
        """
        trace = self.feature.trace
        own = copied(trace.model)
        given = own, self.feature.eval_calls, trace.call
        whole = PartlyEval(*given) if self.plan is None else Replay(*given, self.plan)
        # What is held asks for no gradient, and what is frozen stays in eval mode: `PartlyEval`.
        held = {id(tensor) for name, tensor in named_state(own).items() if name in self.held}
        for parameter in own.parameters():
            parameter.requires_grad_(id(parameter) not in held)
        return whole.train()

    def split(self) -> Split:
        """Return prefix and tail, the tail with parameters of its own."""
        whole = self.whole()
        tail: nn.Module = whole
        if self.chain is not None:
            tail = nn.Sequential(*links_of(whole.model)[self.chain :])
        in_model = named_state(whole.model)
        # Of several names of a tensor the first.
        own = {id(tensor): name for name, tensor in reversed(named_state(tail).items())}
        fresh = {n: t for n, t in in_model.items() if n not in self.held and id(t) in own}
        # What nothing reads needs no rule.
        unread = {own[id(t)] for n, t in fresh.items() if n not in self.feature.trace.behind_logits}
        return Split(
            feature=self.feature.name,
            prefix=self.prefix,
            tail=tail,
            frozen=tuple(sorted(self.feature.frozen)),
            trainable=self.trainable,
            slow=self.slow,
            around=bool(self.feature.around),
            fresh_values=fresh,
            # A chain's tail holds nothing of what is frozen: nothing of it is to be left alone.
            _kept=frozenset(own[id(in_model[n])] for n in self.held if id(in_model.get(n)) in own),
            _unread=frozenset(unread),
        )


def values_of(cuts: Sequence[Cut], batch: Value) -> dict[str, Value]:
    """Return the value of each prefix for a batch (B, ...), by feature, from one pass.

    The cuts are of one model; those that are not cached hand on the batch. Each value is one tensor
    (B, ...) or several.

    >>> model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(5, 4)
    >>> from probe.cut.cuts import cut_each
    >>> cuts = cut_each(model, ["0", "1"], x).each
    >>> {name: tuple(value.shape) for name, value in values_of(cuts, torch.randn(7, 4)).items()}
    {'0': (7, 3), '1': (7, 3)}
    """
    return {name: mapped(value, torch.clone) for _, name, value in passing_values(cuts, [batch])}


@torch.no_grad()
def passing_values(
    cuts: Sequence[Cut], batches: Iterable[Value]
) -> Iterator[tuple[int, str, Value]]:
    """Yield the number of each batch (B, ...), and each feature with the value of its prefix.

    The next step may overwrite the value. See `values_of`, which copies them.
    """
    if not cuts or any(cut.chain is None for cut in cuts):
        for number, batch in enumerate(batches):
            yield from ((number, *each) for each in _collected(cuts, batch))
        return
    # Without names: the value of a link is that of its prefix.
    trace = cuts[0].feature.trace
    links = links_of(trace.model)[: max(cut.chain or 0 for cut in cuts)]
    forget(trace.model)
    # The settings once, not for each batch: that would take as long as a small network's pass.
    with full_precision(trace.sample):
        for number, batch in enumerate(batches):
            value: Any = mapped(batch, torch.clone)  # a model may write into its input
            with one_pass(trace.model):
                for at, link in enumerate(links, 1):
                    value = link(value)
                    yield from ((number, cut.name, value) for cut in cuts if cut.chain == at)


def _collected(cuts: Sequence[Cut], batch: Value) -> Iterator[tuple[str, Value]]:
    """Yield each feature with the value of its prefix for a batch, by the names of the values."""
    prefixes = {cut.name: cut.prefix for cut in cuts}
    cached = [prefix for prefix in prefixes.values() if isinstance(prefix, Prefix)]
    wanted = {name for prefix in cached for name in prefix.plan.kept}
    found = collect(cached[0].trace, wanted, batch) if cached else {}
    for name, prefix in prefixes.items():
        yield name, prefix.rows(found) if isinstance(prefix, Prefix) else batch


def chain_end(feature: Feature, plan: CutPlan) -> int | None:
    """Return how many links of a chain the prefix has, if a link gives the kept value.

    The tail is the links after these, which do what a replay does without its cost in every call.
    None if the model is no such chain, if its links give anything but a tensor with the examples
    first, or if a later link uses again what is frozen.
    """
    plain = feature.trace.call == ModelCall() and isinstance(plan.form, Tensor)
    if len(plan.kept) != 1 or not plain:
        return None
    kept = plan.kept[0]
    shape = plan.shapes[kept]
    visits = {visit.module: visit.names for visit in feature.trace.large.visits}
    links = list(_links(feature.trace.model, ""))
    # The first of them: a link may hand on the very value that it is given, and remember it.
    ends = [at + 1 for at, (name, _) in enumerate(links) if visits.get(name) == (kept,)]
    if not ends or shape.dim != 0 or shape.per[0] != 1:
        return None
    behind = links[ends[0] :]
    if any(name.startswith(f"{link}.") for link, _ in behind for name in feature.frozen):
        return None
    return ends[0]


def links_of(model: nn.Module) -> list[nn.Module]:
    """Return the links of a chain in order; each maps the value of the one before."""
    return [module for _, module in _links(model, "")]


def _links(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    if type(module) is not nn.Sequential or module._forward_hooks or module._forward_pre_hooks:
        yield name, module
        return
    # Not `named_children`, which leaves out a module's second occurrence.
    for child_name, child in module._modules.items():
        if child is not None:
            yield from _links(child, f"{name}.{child_name}" if name else child_name)
