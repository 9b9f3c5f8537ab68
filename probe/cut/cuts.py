"""Cuts of one model at many features: traced, planned and checked together."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Self, cast

import torch
from torch import Tensor, nn

from probe.arguments import checked
from probe.batch import Value, check_finite, check_value, first, tensors
from probe.cut.checks import ReferenceValues
from probe.cut.feature import find, read_at_modules
from probe.cut.interface import Cut, CutFacts, Split, Trainable, check_trainable
from probe.cut.model_call import (
    Call,
    ModelCall,
    Output,
    explained,
    undisturbed,
)
from probe.cut.names import Name
from probe.cut.planned_cut import PlannedCut, links_of, plan_and_check
from probe.cut.trace import Trace, collect, collect_along, trace
from probe.errors import InputError
from probe.modules import (
    architecture,
    architecture_difference,
    check_network,
    copied,
    frozen_in,
    unwrapped,
)
from probe.training.memory_format import channels_last, same_up_to_rounding

_FEW = 2  # examples that show whether a model computes its features as another does


@dataclass(frozen=True, eq=False)
class Cuts:
    """The cuts of a model at several features, in the order of the request.

    They hold a copy of the model; each `split` of a cut makes another.

    Attributes:
        each: The cuts.
        current: Whether the copy still equals the model, so that `of` need not compare.
    """

    each: tuple[Cut, ...]
    current: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(cut.feature.name for cut in self._planned)

    @property
    def facts(self) -> tuple[CutFacts, ...]:
        """Facts on each cut."""
        return tuple(cut.facts for cut in self.each)

    @property
    def _planned(self) -> tuple[PlannedCut, ...]:
        return cast(tuple[PlannedCut, ...], self.each)

    @checked
    def at(self, features: Iterable[str]) -> Self:
        """Return the cuts at some of the features."""
        chosen = tuple(cut for cut in self._planned if cut.feature.name in features)
        return replace(self, each=chosen)

    def of(self, model: nn.Module, tails: bool = True) -> "Cuts":
        """Return the same cuts of another model of this architecture: other weights, same code.

        The only check is that the parts give the new model's output bit for bit on a
        few examples; if they do not, the model is cut anew.

        Args:
            model: The other model.
            tails: Whether tails are used. If only features are read, it is enough that
                the model computes them.

        Raises:
            InputError: The model has a different architecture.
        """
        if self.current:
            return self
        check_network(model)
        traced = self._planned[0].feature.trace
        model = unwrapped(model)
        if where := architecture_difference(traced.architecture, architecture(model)):
            raise InputError(
                f"the cuts fit a different architecture (see {where!r}): cut anew"
            )
        with undisturbed(traced.sample):
            copy = copied(model).requires_grad_(True).eval()
            frozen = frozenset(frozen_in(model))
            traced = replace(traced, model=copy, given_frozen=frozen)
            cuts = tuple(cut.with_trace(traced) for cut in self._planned)
            if not tails:
                names = _readable(cuts)
                if names <= collect(traced, names, first(traced.sample, _FEW)).keys():
                    return Cuts(cuts)
            plans = [(cut.feature, cut.plan or cut.slow) for cut in cuts]
            reference = ReferenceValues(traced, plans)
            # The full checks explain what the user's code raises here.
            with suppress(Exception):
                if all(cut.is_same_as(reference) for cut in cuts):
                    return Cuts(cuts)
        trainable = self._planned[0].trainable
        features = find_each(
            model, self.features, traced.sample, traced.call, trainable
        )
        return cut_found(features, tails)

    def logits(self, x: Value) -> Tensor:
        """Return the model's logits (B, K) for a batch x (B, ...), in eval mode."""
        check_value(x, "x")
        with torch.no_grad(), undisturbed(x), explained(x):
            return self._planned[0].feature.trace.logits(x)

    @torch.no_grad()
    def values(self, batches: Iterable[Value]) -> Iterator[tuple[int, str, Value]]:
        """Compute each cut's value in one pass; it is the batch itself for a cut without a plan.

        >>> model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(5, 4)
        >>> for number, feature, value in cut_each(model, ["0", "1"], x).values([x, x[:2]]):
        ...     print(number, feature, tuple(value.shape))
        0 0 (5, 3)
        0 1 (5, 3)
        1 0 (2, 3)
        1 1 (2, 3)

        Args:
            batches: Inputs, each one or more tensors (B, ...).

        Yields:
            The batch's number, the feature, and its value, one tensor (B, ...) or
            several. The next step may overwrite it.

        Raises:
            NotKept: A batch takes another path through the model.
        """
        if not self.each:
            return
        if any(cut.plan for cut in self._planned) and self._trace.is_faster_pixelwise:
            batches = map(channels_last, batches)
        ends = {
            cut.feature.name: cut.chain
            for cut in self._planned
            if cut.chain is not None
        }
        # A chain of modules is run link by link, which is faster.
        if len(ends) == len(self.each):
            links = links_of(self._trace.model)
            for number, batch in enumerate(batches):
                values = collect_along(self._trace, links, ends.values(), batch)
                yield from ((number, name, values[end]) for name, end in ends.items())
            return
        plans = {cut.feature.name: cut.plan for cut in self._planned}
        kept = (plan.kept for plan in plans.values() if plan)
        names = set(chain.from_iterable(kept))
        for number, batch in enumerate(batches):
            tensor_of_name = collect(self._trace, names, batch)
            for feature, plan in plans.items():
                value = plan.rows(tensor_of_name) if plan else batch
                yield number, feature, value

    @torch.no_grad()
    def feature_values(
        self, batches: Iterable[Value]
    ) -> Iterator[tuple[int, str, Value]]:
        """Compute each feature's own value in one pass, even where its cut keeps other values.

        A tuple gives only its tensors that have a row for each example. A feature is
        the k-th output of its module: batches may take different paths to it.

        Args:
            batches: Inputs, each one or more tensors (B, ...).

        Yields:
            The batch's number, the feature, and its tensors (B, ...). The next step may
            overwrite them.

        Raises:
            InputError: A batch computes another feature there, see `read_at_modules`.
        """
        for number, batch in enumerate(batches):
            for feature, value in self._read_faster(batch):
                yield number, feature, value

    def _read_faster(self, batch: Value) -> Iterable[tuple[str, Value]]:
        """Return each feature's value, of images channels-last if that gives the same."""
        if self._any_layout:
            # A rare example may send its batch down a path that needs the usual layout.
            with suppress(Exception):
                return list(self._read(channels_last(batch)))
        return self._read(batch)

    @cached_property
    def _any_layout(self) -> bool:
        """Whether images may be channels-last."""
        return all(self._same_in_both_layouts())

    def _same_in_both_layouts(self) -> list[bool]:
        """Return whether each feature is the same if images are channels-last, up to rounding."""
        few = first(self._trace.sample, _FEW)
        if all(tensor.ndim != 4 for tensor in tensors(few)):
            return [False]
        same = []
        try:
            pairs = zip(self._read(few), self._read(channels_last(few)), strict=True)
            for (_, usual), (_, other) in pairs:
                parts = zip(tensors(usual), tensors(other), strict=True)
                same.append(all(same_up_to_rounding(a, b) for a, b in parts))
        except Exception:
            # An error that is not of the layout occurs again.
            return [False]
        return same

    def _read(self, batch: Value) -> Iterator[tuple[str, Value]]:
        """Yield each feature's value of a batch."""
        names = _readable(self._planned)
        features = [cut.feature for cut in self._planned]
        tensor_of_name = collect(self._trace, names, batch)
        if not names <= tensor_of_name.keys():
            tensor_of_name = read_at_modules(features, batch)
        for feature in features:
            shapes = feature.trace.outputs
            rows = (shapes[n].to_rows(tensor_of_name[n]) for n in feature.readable)
            yield feature.name, tuple(rows)

    def named_values(self, x: Value) -> Iterator[tuple[str, Tensor]]:
        """Yield each tensor (B, ...) of each feature's own value for a batch x, with its name."""
        for _, feature, value in self.feature_values([x]):
            for k, tensor in enumerate(tensors(value)):
                yield f"{feature!r} [{k}]", tensor.clone()

    @property
    def _trace(self) -> Trace:
        """The trace of the cuts that keep values, or of the first if none does."""
        # A cut that was made again on more examples has another trace, and keeps none.
        planned_cuts = (cut for cut in self._planned if cut.plan)
        return next(planned_cuts, self._planned[0]).feature.trace


def _readable(cuts: Iterable[PlannedCut]) -> set[Name]:
    """Return the names of the values of all features."""
    return set(chain.from_iterable(cut.feature.readable for cut in cuts))


@checked
def split(
    model: nn.Module,
    feature: str,
    sample: Value,
    output: Output = None,
    call: Call | None = None,
) -> Split:
    """Cut a copy of `model` at the layer `feature` so that tail(prefix(x)) equals model(x).

    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> cut = split(model, "1", torch.randn(5, 4))
    >>> cut.frozen, cut.cached
    (('0.bias', '0.weight'), True)

    `frozen` is W_F of Murata 2020 (section 2): the parameters, and here also the
    buffers, that the feature's value depends on, whatever the order of the layers. If a
    check fails, the model is run whole with the frozen parameters held fixed, which is
    slower but correct.

    Args:
        model: The model, which is not changed.
        feature: Dotted module name; `name#2` for the second time that the module runs.
        sample: Real inputs, one or more tensors (B, ...), B from 3. The cut is checked
            on them bit for bit.
        output: Key or index of the logits, if the model returns more than the logits.
        call: Function that calls the model on a batch, see `ModelCall`.

    Returns:
        The prefix and the tail.

    Raises:
        InputError: The feature does not exist, does not run, or does not stay fixed
            while the tail trains.
    """
    return cut_each(model, [feature], sample, output, call).each[0].split()


@checked
def cut_each(
    model: nn.Module,
    features: Sequence[str],
    sample: Value,
    output: Output = None,
    call: Call | None = None,
    trainable: Trainable = "tail",
    tails: bool = True,
) -> Cuts:
    """Cut a copy of `model` at each of the features, to use the cuts again for other weights.

    >>> build = lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> cuts = cut_each(build(), ["0", "1"], torch.randn(5, 4))
    >>> cuts.of(build()).features
    ('0', '1')

    Everything that depends only on the architecture is computed and checked once.

    Args:
        model: The model, which is not changed.
        features: Names of layers; see `split`.
        sample: Real inputs, one or more tensors (B, ...), B from 3.
        output: Key or index of the logits, if the model returns more than the logits.
        call: Function that calls the model on a batch, see `ModelCall`.
        trainable: The parameters to train downstream of each feature, see
            `probe.Model`.
        tails: Whether to plan and check prefixes and tails, which reading features does
            not need.

    Returns:
        The cuts, in the order of the features.

    Raises:
        InputError: A feature does not exist, does not run, or does not stay fixed while
            its tail trains.
    """
    check_trainable(trainable)
    check_network(model)
    check_value(sample, "the sample")
    check_finite(sample, "the sample")
    call_of_model = ModelCall(call=call, output=output)
    return cut_found(
        find_each(model, features, sample, call_of_model, trainable), tails
    )


def find_each(
    model: nn.Module,
    features: Sequence[str],
    sample: Value,
    call: ModelCall,
    trainable: Trainable,
) -> list[Cut]:
    """Trace a copy of `model` on a few examples, and find features in it.

    Args:
        model: The model, which is not changed.
        features: Names of layers; see `split`.
        sample: Real inputs, one or more tensors (B, ...), B from 3.
        call: The call that gives the model's logits.
        trainable: The parameters to train downstream of each feature, see
            `probe.Model`.

    Returns:
        Cuts whose facts are known but which are not planned yet; `cut_found` plans
        them.

    Raises:
        InputError: The model cannot be followed, or a feature is unknown.
    """
    features = list(features)
    if not features:
        raise InputError("no features to cut at: name at least one layer")
    if len(set(features)) < len(features):
        raise InputError(f"a feature is named twice in {features}: name each once")
    traced = trace(model, sample, call)
    return [
        PlannedCut(feature=find(traced, name), trainable=trainable) for name in features
    ]


def cut_found(cuts_found: Sequence[Cut], tails: bool = True) -> Cuts:
    """Plan and check the cuts that one call of `find_each` returned.

    Args:
        cuts_found: The cuts.
        tails: Whether to do so; else features can be read, and nothing retrained.

    Raises:
        InputError: A feature is random, or does not stay fixed while the rest is
            trained.
    """
    cuts = cast(Sequence[PlannedCut], cuts_found)
    for cut in cuts:
        if cut.feature.random:
            raise InputError(
                f"cannot cut at {cut.feature.name!r}: its value is drawn at random in "
                "eval mode too, or another thread draws meanwhile: choose another "
                "layer, or wait"
            )
    return Cuts(plan_and_check(cuts) if tails else tuple(cuts))
