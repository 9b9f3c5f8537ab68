"""Planned and checked cuts at one feature."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import chain

from torch import Tensor, nn

from probe.batch import Value, first, tensors
from probe.cut.channels import channels_of
from probe.cut.checks import ReferenceValues, check_stays_fixed, same_gradients
from probe.cut.feature import Feature, PartlyEval
from probe.cut.interface import CutFacts, Split, TensorFacts, Trainable
from probe.cut.model_call import ModelCall, undisturbed
from probe.cut.names import INPUT, Name, of_input
from probe.cut.plan import CutPlan, plan_each
from probe.cut.replay import Prefix, Replay
from probe.cut.trace import Trace
from probe.errors import Failed, InputError, described
from probe.immutable import immutable
from probe.modules import copied, named_state


@immutable(eq=False)
class PlannedCut:
    """A cut at a feature; see `probe.cut.interface.Cut`.

    Attributes:
        feature: The feature, with the trace of the model.
        trainable: The choice of the tail's parameters to train, see `probe.Model`.
        plan: The plan of prefix and tail; None if the whole model has to be run.
        slow: The reason why the whole model has to be run, if it has to be.
        chain: The number of modules of a chain before the tail, None if the model is no
            chain.
        extends_graph: Whether frozen values require gradients when the tail is trained.
    """

    feature: Feature
    trainable: Trainable
    plan: CutPlan | None = None
    slow: str = ""
    chain: int | None = None
    extends_graph: bool = False

    @cached_property
    def facts(self) -> CutFacts:
        """The facts about the cut."""
        feature = self.feature
        trace = feature.trace
        behind = trace.large.upstream([trace.large.logits]) - feature.upstream
        steps = trace.large.steps
        visit = feature.visit
        inputs = ((INPUT[0], index) for index in range(len(tensors(trace.sample))))

        kept = self.plan.kept if self.plan else tuple(inputs)
        return CutFacts(
            name=feature.name,
            position=feature.position,
            frozen=frozenset(feature.frozen),
            trained=trace.trained(self.held),
            slow=self.slow,
            around=feature.around,
            is_output=trace.large.logits in visit.names,
            random_downstream=any(steps[n].random for n in behind & steps.keys()),
            work=visit.work,
            value=_tensor_facts(trace, feature.readable, trace.outputs),
            kept=_tensor_facts(trace, kept, trace.shapes),
            inputs=first(trace.sample, 0),
            logits_shape=trace.large.shapes[trace.large.logits].shape,
            examples=trace.examples,
        )

    def with_trace(self, trace: Trace) -> "PlannedCut":
        """Return the same cut of another traced model of the same architecture."""
        return replace(self, feature=replace(self.feature, trace=trace))

    def is_same_as(self, reference: ReferenceValues) -> bool:
        """Return whether the two parts give the model's logits; true if nothing is cached."""
        return not self.plan or reference.is_same(self.plan, self.split().tail)

    @property
    def held(self) -> frozenset[str]:
        """The names of the parameters and buffers of the tail that stay as they are."""
        held = self.feature.frozen | self.feature.eval_buffers
        if self.trainable == "as given":
            held |= self.feature.trace.given_frozen
        return held

    def model_to_train(self) -> PartlyEval:
        """Return a copy of the model in training mode, its frozen part held fixed.

        Unless the cut is slow, the copy takes kept values in place of inputs.
        """
        feature = self.feature
        model = copied(feature.trace.model)
        if self.plan:
            module: PartlyEval = Replay(model, feature, self.plan)
        else:
            module = PartlyEval(model, feature)
        if self.extends_graph:
            module.extend_graph()
        # Held parameters require no gradient. `PartlyEval` keeps frozen modules in eval
        # mode.
        state = named_state(module.model)
        held = {id(state[name]) for name in self.held & state.keys()}
        for parameter in module.parameters():
            parameter.requires_grad_(id(parameter) not in held)
        return module.train()

    def split(self) -> Split:
        """Return the prefix and the tail; the tail has its own copy of the parameters."""
        module = self.model_to_train()
        tail: nn.Module = module
        if self.chain is not None:
            tail = nn.Sequential(*links_of(module.model)[self.chain :])
        prefix: nn.Module = nn.Identity()
        if self.plan:
            prefix = Prefix(self.feature.trace, self.plan)
        in_model = named_state(module.model)
        # Reversed, so that a tensor with several names has the first.
        state_of_tail = reversed(named_state(tail).items())
        in_tail = {id(tensor): name for name, tensor in state_of_tail}
        held = self.held
        fresh = {
            name: tensor
            for name, tensor in in_model.items()
            if name not in held and id(tensor) in in_tail
        }
        # Parameters that nothing reads need no rule that writes them.
        unread = fresh.keys() - self.feature.trace.upstream_of_logits
        # The tail of a chain has no frozen tensors.
        held_tensors = {id(in_model[name]) for name in held & in_model.keys()}
        return Split(
            feature=self.feature.name,
            prefix=prefix,
            tail=tail,
            frozen=tuple(sorted(self.feature.frozen)),
            trainable=bool(self.facts.trained),
            slow=self.slow,
            around=bool(self.feature.around),
            fresh_values=fresh,
            _kept=frozenset(in_tail[t] for t in held_tensors & in_tail.keys()),
            _unread=frozenset(in_tail[id(fresh[name])] for name in unread),
        )

    def again(self, x: Value, reason: str = "", whole: bool = False) -> "PlannedCut":
        """Cut again, for data that this cut does not fit; see `Cut.again`.

        First the code around the feature is put into eval mode, as its path may be
        random in training mode; if that does not help, nothing is cached.

        Args:
            x: The training inputs, one or more tensors (N, ...).
            reason: Why this cut does not fit, as the end of a sentence; empty if it
                fits.
            whole: Whether to run the whole model without trying another cut first.

        Returns:
            The new cut.
        """
        cut = self
        if whole or (reason and self.feature.around):
            cut = self.run_whole(reason)
        elif reason:
            in_eval = replace(self.feature, around=reason)
            [cut] = plan_and_check([replace(self, feature=in_eval)])
        return cut._on_more_examples(x) if cut.slow else cut

    def _on_more_examples(self, x: Value) -> "PlannedCut":
        """Return the cut of the whole model with its feature found on all of x.

        A few examples may not show everything that a value depends on, as in a mixture
        of experts; a dependency that they miss would be retrained.
        """
        feature = self.feature.with_dependencies_on(x)
        if feature == self.feature:
            return self
        return replace(self, feature=feature).run_whole(self.slow)

    def run_whole(self, slow: str) -> "PlannedCut":
        """Return the cut that caches nothing: the whole model runs, its frozen part held fixed.

        Args:
            slow: The reason why nothing can be cached, as the end of a sentence.

        Returns:
            The cut.

        Raises:
            InputError: The feature does not stay fixed.
        """
        cut = replace(self, plan=None, slow=slow, chain=None)
        trace = self.feature.trace
        with undisturbed(trace.sample):
            check_stays_fixed(self.feature, cut.model_to_train(), slow)
            # An error of the user's code will be raised in the training, too.
            with suppress(Exception):
                return cut._with_gradients(first(trace.sample, trace.examples))
        return cut

    def _with_gradients(self, value: Value) -> "PlannedCut":
        """Return the cut, whose frozen values require gradients where the tail would lack some.

        Reentrant checkpointing gives no gradients to weights whose input requires none.
        """
        extended = replace(self, extends_graph=True)
        is_trained = self.feature.trace.trained(self.held)
        models = (self.model_to_train(), extended.model_to_train())
        if not is_trained or same_gradients(*models, value):
            return self
        return extended

    def with_checked_plan(
        self, plan: CutPlan | str, reference: ReferenceValues
    ) -> "PlannedCut":
        """Return the cut of a plan that passes all checks, else one that runs the whole model.

        Args:
            plan: The plan, or the reason why there is none.
            reference: The values to check against.

        Returns:
            The cut.

        Raises:
            InputError: Neither kind of cut is possible.
        """
        try:
            if isinstance(plan, str):
                raise Failed(plan)
            cut = replace(self, plan=plan, slow="", chain=None)
            return cut._with_checked_tail(plan, reference)
        except Failed as failure:
            slow = str(failure)
        # The user's code, run in a way that it was not written for.
        except Exception as error:
            slow = f"replaying it fails ({described(error)})"
        try:
            return self.run_whole(slow)
        except InputError:
            # The code around it may change it in training mode.
            in_eval = replace(self.feature, around="its value changes in training mode")
            with suppress(InputError):
                return replace(self, feature=in_eval).run_whole(slow)
            raise

    def _with_checked_tail(
        self, plan: CutPlan, reference: ReferenceValues
    ) -> "PlannedCut":
        """Return the cut, with the simple tail of a chain if that passes the checks, too.

        Raises Failed if the cut does not pass them.
        """
        if not reference.repeats:
            raise Failed(
                "the model gives different outputs for the same input in eval mode "
                "(by a generator or a state of its own), so that its score comes from "
                "a single draw"
            )
        cut = self
        if reference.has_own_backward:
            cut = self._with_gradients(reference.kept(plan))
        tail = cut.model_to_train()
        if not reference.is_same(plan, tail):
            raise Failed("its two parts together do not give the model's output")
        reference.check_training(self.feature, plan, tail)
        # The links of a chain cannot make kept values require gradients.
        chain = None if cut.extends_graph else _chain_end(self.feature, plan)
        if chain is not None:
            links = nn.Sequential(*links_of(tail.model)[chain:])
            chain = chain if reference.is_same(plan, links) else None
        if not reference.stays(self.feature, plan):
            raise Failed(
                "its value depends on something that torch's functions do not show"
            )
        return replace(cut, chain=chain)


def plan_and_check(cuts: Sequence[PlannedCut]) -> tuple[PlannedCut, ...]:
    """Plan and check cuts of one trace, which share their passes.

    Args:
        cuts: The cuts, not planned yet.

    Returns:
        The cuts, in the same order.

    Raises:
        InputError: A feature does not stay fixed while the rest is trained.
    """
    trace = cuts[0].feature.trace
    with undisturbed(trace.sample):
        plans = plan_each([cut.feature for cut in cuts])
        reference = ReferenceValues(trace, plans)
        checked = []
        for cut, (feature, plan) in zip(cuts, plans, strict=True):
            checked.append(
                replace(cut, feature=feature).with_checked_plan(plan, reference)
            )
        return tuple(checked)


def _tensor_facts(
    trace: Trace,
    names: Iterable[Name],
    shapes: Mapping[Name, TensorFacts],
) -> tuple[TensorFacts, ...]:
    """Return the facts on values, with their channels and the positions that the head reads."""
    return tuple(_read_facts(trace, name, shapes[name]) for name in names)


def _read_facts(trace: Trace, name: Name, facts: TensorFacts) -> TensorFacts:
    """Return the facts on a value, with its channels and the positions that the head reads."""
    axis = None if facts.dim is None else channels_of(trace, name)
    index = name[1] if of_input(name) else None
    facts = replace(facts, axis=axis, input_index=index)
    if facts.dim != 0 or len(facts.example) != 2:
        return facts
    if axis != "first" and trace.large.is_read_by_position(name):
        facts = replace(facts, read=trace.positions.get(facts.example[0], ()))
    channels = facts.channel_dim(axis)
    lengths = [size for dim, size in enumerate(facts.example) if dim != channels]
    for length in lengths:
        if length in trace.padding and not facts.read:
            return replace(facts, padding=trace.padding[length] or "unknown")
    return facts


def _chain_end(feature: Feature, plan: CutPlan) -> int | None:
    """Return the number of links of a chain in the prefix, if a link gives the kept value.

    The tail consists of the links after these, which do the same as a replay without
    its cost per call. The result is None if the model is no such chain, if a link
    returns anything but a tensor with the examples first, or if a later link uses
    frozen parameters again.
    """
    plain = feature.trace.call == ModelCall() and isinstance(plan.form, Tensor)
    facts = plan.shapes[plan.kept[0]]
    if len(plan.kept) != 1 or not plain or facts.dim != 0 or facts.per[0] != 1:
        return None
    visits = {visit.module: visit.names for visit in feature.trace.large.visits}
    links = links_of(feature.trace.model)
    # A module that is two links is visited under the first of its names.
    names = {module: name for name, module in feature.trace.model.named_modules()}
    # The first link that gives the kept value: a later one may return its input as it is.
    linked = enumerate(links, 1)
    ends = (end for end, link in linked if visits.get(names[link]) == plan.kept)
    end = next(ends, None)
    behind = tuple(f"{names[link]}." for link in links[end:])
    shared = any(name.startswith(behind) for name in feature.frozen)
    return None if shared else end


def links_of(module: nn.Module) -> list[nn.Module]:
    """Return the links of a chain in order; each maps the value of the one before.

    Args:
        module: The chain.
    """
    hooked = (
        module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module)
    )
    if type(module) is not nn.Sequential or hooked:
        return [module]
    # Not `children`, which leaves out a module's second occurrence.
    children = (child for child in module._modules.values() if child is not None)
    return list(chain.from_iterable(map(links_of, children)))
