"""Traces of a model: its computation call by call, and the origin of each value.

The model runs as it is, on real examples, in eval mode; every call of a torch function
is noted as a `Step`, every run of a module as a `Visit`. The steps are a graph: from a
feature's value back to all calls, parameters and buffers that it depends on. Nothing is
read from the model's source code, so any code that computes with torch's functions can
be followed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import HigherOrderOperator
from torch.nn.utils.rnn import PackedSequence
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import TreeSpec, tree_flatten, tree_map_only

import probe.modules as modules
from probe.batch import Value, arranged, check_value, first, length, mapped, tensors
from probe.cut.batch_dimension import TensorFacts
from probe.cut.model_call import (
    ModelCall,
    PositionMask,
    Positions,
    explained,
    full_precision,
    position_masks,
    positions_read,
    tensors_of,
    undisturbed,
)
from probe.cut.names import (
    FOREIGN,
    Name,
    Names,
    Naming,
    Numbering,
    Tag,
    TorchCall,
    alias,
    eagerly,
    of_input,
    words,
)
from probe.errors import InputError
from probe.seeding import (
    every_global_stream,
    global_states,
    global_stream,
    python_draws,
    stream,
)
from probe.training.costs import ops_counter
from probe.training.memory_format import gains_pixelwise

_LEAF = tree_flatten(None)[1]
# Functions that mix the positions of a sequence, in attention.
_ACROSS = words(
    "matmul __matmul__ bmm baddbmm einsum scaled_dot_product_attention "
    "multi_head_attention_forward"
)
# Examples: two batch sizes show which dimensions grow with the batch.
LARGE = 4
_SMALL = 2

StateCalls = Mapping[int, tuple[str, ...]]
"""The names of parameters and buffers by the number of a "call" without inputs that gives them."""


@dataclass(frozen=True)
class NewTensor:
    """A tensor that a call made and returned.

    Attributes:
        index: Its number among the tensors that the call returned.
        base: The number of the input whose memory it shares, None if there is none.
    """

    index: int
    base: int | None


@dataclass(frozen=True)
class PassedInput:
    """An input of a call that it returned unchanged, by its number."""

    number: int


@dataclass(frozen=True)
class PlainValue:
    """A part of a call's return value that is no tensor."""

    value: object


Leaf = NewTensor | PassedInput | PlainValue
"""A part of what a call returned."""


@dataclass(frozen=True)
class Step:
    """One call of a torch function in a forward pass, with its inputs and results.

    Attributes:
        function: The function's name.
        parents: The names of the input tensors; inputs are numbered from 0 in this
            order.
        names: The names of the new values, including values written over an input.
        leaves: The parts of the return value.
        tree: The structure of the return value, with a slot for each leaf.
        overwritten: The numbers of the inputs that the call writes into.
        owner: The module whose own forward makes the call.
        random: Whether the call draws from a generator.
        settings: The arguments that are not tensors.
        work: The number of floating-point operations.
    """

    function: str
    parents: Names
    names: Names
    leaves: tuple[Leaf, ...] = ()
    tree: TreeSpec = _LEAF
    overwritten: tuple[int, ...] = ()
    owner: str = ""
    random: bool = False
    settings: str = ""
    work: int = 0

    @property
    def views(self) -> Names:
        """Names of the values that are views of an input's memory."""
        new = [leaf for leaf in self.leaves if isinstance(leaf, NewTensor)]
        indexes = {leaf.index for leaf in new if leaf.base is not None}
        return tuple(name for name in self.names if name[1] in indexes)


@dataclass(frozen=True)
class Visit:
    """One run of a module.

    Attributes:
        module: The module's dotted name.
        names: The names of the tensors in its output, in order.
        shapes: The shapes of these tensors.
        work: The floating-point operations of the pass so far.
        packed: The names of the tensors of packed sequences, which are sorted by their
            lengths.
    """

    module: str
    names: Names
    shapes: tuple[TensorFacts, ...]
    work: int = 0
    packed: frozenset[Name] = frozenset()


@dataclass(frozen=True)
class Pass:
    """A recorded forward pass.

    Attributes:
        steps: The calls by number, in order of execution.
        visits: The runs of modules, in the order in which they end.
        logits: The name of the output.
        shapes: The shape of each value, at this pass's batch size.
        drawn: Whether `random` or numpy drew numbers.
    """

    steps: dict[int, Step]
    visits: list[Visit]
    logits: Name
    shapes: dict[Name, TensorFacts]
    drawn: bool = False

    def runs_of(self, module: str) -> list[Visit]:
        """Return the runs of a module; the k-th of every pass is the same feature."""
        return [visit for visit in self.visits if visit.module == module]

    def upstream(self, names: Iterable[Name]) -> frozenset[int]:
        """Return the numbers of all calls that the named values depend on.

        They include the calls that stand for the input, the parameters and the buffers.
        """
        calls: set[int] = set()
        waiting = [name[0] for name in names]
        while waiting:
            call = waiting.pop()
            if call not in calls:
                calls.add(call)
                if call in self.steps:
                    waiting += [parent[0] for parent in self.steps[call].parents]
        return frozenset(calls)

    def is_read_by_position(self, name: Name) -> bool:
        """Return whether a path leads from a sequence to the logits without attention.

        Then its positions are those that the head reads. A decoder's head reads an
        encoder's sequence by attention only, at other positions.
        """
        reached = {name}
        for step in self.steps.values():
            if not reached.isdisjoint(step.parents) and step.function not in _ACROSS:
                reached.update(step.names)
        return self.logits in reached


@dataclass(frozen=True, eq=False)
class Trace:
    """A copy of a model in eval mode, and its computation.

    Attributes:
        model: The copy.
        architecture: The architecture of the user's model.
        names: The numbers of the model's calls.
        state: The "calls" that stand for its parameters and buffers.
        large: The forward pass on the first `examples` examples of the sample.
        shapes: The shapes of all values computed in eval mode, which include all frozen
            values.
        outputs: The shapes of the modules' outputs.
        sample: The inputs, one or more tensors (B, ...).
        examples: The number of examples in the large pass.
        call: The call that gives the model's logits.
        given_frozen: Names of the parameters with `requires_grad=False` in the user's
            own model, and of the buffers of modules in which all parameters are like
            this.
    """

    model: nn.Module
    architecture: Mapping[str, object]
    names: Numbering
    state: StateCalls
    large: Pass
    shapes: Mapping[Name, TensorFacts]
    outputs: Mapping[Name, TensorFacts]
    sample: Value
    examples: int
    call: ModelCall
    given_frozen: frozenset[str]

    @cached_property
    def needed(self) -> frozenset[int]:
        """The calls that the logits depend on."""
        return self.large.upstream([self.large.logits])

    @cached_property
    def upstream_of_logits(self) -> frozenset[str]:
        """Names of the parameters and buffers that the logits depend on."""
        return self.depends_on(self.needed)

    @cached_property
    def positions(self) -> Mapping[int, Positions]:
        """The positions of sequences that the head reads, by length, see `positions_read`."""
        sample = first(self.sample, self.examples)
        try:
            return positions_read(modules.copied(self.model), sample, self.call)
        # The user's code, or torch: without gradients nothing is known.
        except Exception:
            return {}

    @cached_property
    def padding(self) -> Mapping[int, PositionMask | None]:
        """The input that tells which positions of sequences count, see `position_masks`."""
        try:
            return position_masks(modules.copied(self.model), self.sample, self.call)
        except Exception:  # as above
            return {}

    @cached_property
    def training(self) -> Pass | None:
        """The pass with all of the model in training mode, None if that fails."""
        model = modules.copied(self.model).train()
        sample = first(self.sample, self.examples)
        try:
            return follow(model, self.names, self.state, sample, self.call)
        except Exception:  # the user's code
            return None

    def trained(self, held: frozenset[str]) -> frozenset[str]:
        """Return the names of the parameters that the logits depend on and that are not held."""
        parameters = dict(self.model.named_parameters(remove_duplicate=False))
        return (self.upstream_of_logits - held) & parameters.keys()

    def depends_on(self, calls: frozenset[int]) -> frozenset[str]:
        """Return the names of the parameters and buffers among the calls."""
        groups = (self.state[call] for call in calls & self.state.keys())
        return frozenset().union(*groups)

    @cached_property
    def is_faster_pixelwise(self) -> bool:
        """Whether the model trains faster on channels-last images, with the same results."""
        model = modules.copied(self.model)
        few = first(self.sample, LARGE)
        with full_precision(few):
            return gains_pixelwise(model, partial(self.call, model), few)

    def follow(self, x: Value) -> Pass:
        """Record the pass of a batch x (B, ...), which may take another path."""
        with full_precision(x):
            x = arranged(x, self.sample)
            return follow(self.model, self.names, self.state, x, self.call)

    def logits(self, x: Value) -> Tensor:
        """Return the logits (B, K) of a batch (B, ...) and leave the traced model unchanged."""
        modules.forget(self.model)
        with modules.kept_buffers(self.model), global_stream(stream(0, "check")):
            return self.call(self.model, mapped(x, torch.clone))


def trace(
    model: nn.Module,
    sample: Value,
    call: ModelCall,
) -> Trace:
    """Follow a copy of `model` in eval mode on the first examples of a sample.

    Args:
        model: The model, perhaps within wrappers.
        sample: Inputs, one or more tensors (B, ...), B from 3.
        call: The call that gives its logits.

    Raises:
        InputError: The call gives no logits or fails, the model has parts that cannot
            be copied, followed or trained, or computes with parameters that are not
            among its own.
    """
    if torch.is_inference_mode_enabled():
        raise InputError(
            "a model cannot be cut under torch.inference_mode(): call it outside"
        )
    modules.check_model(model)
    modules.check_values(model)
    check_value(sample, "the sample")
    model = modules.unwrapped(model)
    _check_modules(model)
    if (n := length(sample)) <= _SMALL:
        raise InputError(f"the sample has {n} examples: give {_SMALL + 1} or more")
    with undisturbed(sample), explained(sample):
        copy = modules.copied(model).requires_grad_(True).eval()
        names = Numbering()
        # From the user's model, as in a copy parameters no longer share memory.
        state = {
            names.call("state", group): group for group in modules.state_groups(model)
        }
        batches = first(sample, LARGE), first(sample, _SMALL)
        if any(module._non_persistent_buffers_set for module in copy.modules()):
            # A pass that is not followed: it may make buffers for the inputs' size.
            with torch.no_grad(), global_stream(stream(0, "check")):
                call(copy, mapped(batches[1], torch.clone))
        large, small = (follow(copy, names, state, batch, call) for batch in batches)
    if large.logits == FOREIGN:
        raise InputError(
            "the model's output comes from a call that is no function of torch's "
            "(as_subclass, a class of tensors, numpy): return what a layer returns, "
            "and wrap the inputs x rather than values in forward"
        )
    n = min(LARGE, n)
    frozen = frozenset(modules.frozen_in(model))
    return Trace(
        copy,
        modules.architecture(model),
        names,
        state,
        large,
        _facts_for_any_batch(large, small.shapes, n),
        _facts_for_any_batch(large, _outputs(large, small), n),
        sample,
        n,
        call,
        frozen,
    )


def _outputs(large: Pass, small: Pass) -> dict[Name, TensorFacts]:
    """Return the shapes in a small pass of the modules' outputs, by their names in a large one.

    The k-th run of a module in one pass is matched with the k-th in the other, as the
    batches may have taken different paths to them.
    """
    outputs: dict[Name, TensorFacts] = {}
    for module in {visit.module for visit in large.visits}:
        runs = zip(large.runs_of(module), small.runs_of(module), strict=False)
        for visit, other in runs:
            outputs.update(zip(visit.names, other.shapes, strict=False))
    return outputs


def _facts_for_any_batch(
    large: Pass,
    small: Mapping[Name, TensorFacts],
    n: int,
) -> dict[Name, TensorFacts]:
    """Return the shapes of values for any batch size, from those for n examples and for fewer."""
    return {
        name: facts.compared(small[name], n)
        for name, facts in large.shapes.items()
        if name in small and len(facts.shape) == len(small[name].shape)
    }


def _check_modules(model: nn.Module) -> None:
    """Raise InputError for a scripted part of a model or a parameter of integers."""
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise InputError(f"{name} is scripted: use the module it comes from")
    for name, parameter in model.named_parameters():
        if not (parameter.is_floating_point() or parameter.is_complex()):
            raise InputError(
                f"{name!r} holds {parameter.dtype}, which cannot be trained: make it "
                "a buffer"
            )


@torch.no_grad()
def follow(
    model: nn.Module,
    names: Numbering,
    state: StateCalls,
    sample: Value,
    call: ModelCall,
) -> Pass:
    """Run `model` unchanged, in its own modes, and record its computation.

    Buffers and random generators keep their state.

    Args:
        model: The model.
        names: The names of earlier calls.
        state: The "calls" that stand for the model's parameters and buffers.
        sample: The inputs, (B, ...).
        call: The call that gives the model's logits.

    Returns:
        The recorded forward pass.
    """
    run = _Tracing(names, state_tags(model, state))
    # A copy: a model may write into its input.
    sample = mapped(sample, torch.clone)
    run.tag_input(sample)
    modules.forget(model)
    seeded = every_global_stream(stream(0, "trace"))
    with modules.kept_buffers(model), seeded, run.visiting(model), eagerly(), run:
        drawn = python_draws()
        logits = run.name_of(call(model, sample))
        return replace(run.recorded, logits=logits, drawn=drawn())


class Done(Exception):
    """Raised to end a pass in which all wanted values have been computed."""


@torch.no_grad()
def collect(trace: Trace, names: Collection[Name], x: Value) -> dict[Name, Tensor]:
    """Run the traced model as far as needed to compute some of its values.

    Args:
        trace: The traced model.
        names: The values to compute.
        x: The inputs, (B, ...).

    Returns:
        Copies of the values by name; the input itself is not copied. Values that are
        not computed are missing.
    """
    x = arranged(x, trace.sample)
    values = {name: tensors(x)[name[1]].detach() for name in names if of_input(name)}
    missing = set(names) - values.keys()
    if not missing:
        return values

    def keep(name: Name, tensor: Tensor) -> None:
        if name in missing:
            missing.remove(name)
            # Copied at once: an in-place operation may overwrite it.
            with torch.inference_mode(False):  # the tail is to be trained on it
                values[name] = tensor.clone()
            if not missing:
                raise Done

    modules.forget(trace.model)
    run = Naming(trace.names, state_tags(trace.model, trace.state), keep)
    x = mapped(x, torch.clone)  # a model may write into its input
    run.tag_input(x)
    with (
        suppress(Done),
        full_precision(x),
        modules.kept_buffers(trace.model),
        global_stream(stream(0, "collect")),
        eagerly(),
        run,
    ):
        trace.call(trace.model, x)
    return values


def collect_along(
    trace: Trace, links: Sequence[nn.Module], ends: Collection[int], x: Value
) -> dict[int, Tensor]:
    """Compute values of a chain by running its links, in a quarter of the time of `collect`.

    Args:
        trace: The traced model, which is the chain.
        links: Its links in order.
        ends: The numbers of links after which to keep the value.
        x: The inputs, (B, ...).

    Returns:
        Copies of the values by number of links.
    """
    value = tensors(arranged(x, trace.sample))[0]
    values = dict[int, Tensor]()
    modules.forget(trace.model)
    with (
        full_precision(x),
        modules.kept_buffers(trace.model),
        global_stream(stream(0, "collect")),
        eagerly(),
        torch.inference_mode(False),
        torch.no_grad(),
    ):
        value = value.clone()  # a link may write into its input
        for end, link in enumerate(links[: max(ends)], 1):
            value = link(value)
            if end in ends:
                values[end] = value.clone()
    return values


def state_tags(model: nn.Module, state: StateCalls) -> dict[int, Tag]:
    """Return the tags of a model's parameters and buffers, for all runs.

    Args:
        model: The model.
        state: The "calls" that stand for its parameters and buffers.

    Returns:
        The tags by the tensors' ids.
    """
    state_of_name = modules.named_state(model)
    tags: dict[int, Tag] = {}
    for number, names in state.items():
        tag = Tag(None, (number, 0), [])
        tags |= {id(state_of_name[name]): tag for name in names}
    return tags


class _DynamicShapes(TorchDispatchMode):
    """A watch for operators whose output size depends on the values of their inputs.

    Attributes:
        met: Whether there was one, such as `nonzero` or indexing by a mask.
    """

    met = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Runs with the compiler off (`eagerly`), whose import would take a second.
        return False

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if torch.Tag.dynamic_output_shape in func.tags:
            # Indexing by numbers gives as many rows as there are numbers.
            masks = [
                t.dtype in (torch.bool, torch.uint8)
                for t in modules.tensors_in(args[1:2])
            ]
            self.met |= func is not torch.ops.aten.index.Tensor or any(masks)
        return func(*args, **(kwargs or {}))


class _Tracing(Naming):
    """A pass that records every call."""

    def __init__(self, names: Numbering, state: Mapping[int, Tag]) -> None:
        super().__init__(names, state, self._describe)
        self._counter, self._counting = ops_counter()
        self.recorded = Pass({}, [], FOREIGN, {})
        self._running = [""]  # the modules that are running, the innermost last

    def _describe(self, name: Name, tensor: Tensor) -> None:
        self.recorded.shapes[name] = TensorFacts.of(tensor)

    def on_changed_view(self, name: Name, parents: Names) -> None:
        self.recorded.steps[name[0]] = Step("seen through a view", parents, (name,))
        if parents[0] in self.names.sized_by_data:
            self.names.sized_by_data.add(name)

    def perform(self, call: TorchCall) -> Any:
        """Run a call and record it as a step; note values whose size depends on the data."""
        self._check_parameters(call)
        # A call draws at random if it changes the state of torch's generators.
        before = global_states()
        work = self._counter.get_total_flops()
        shapes = _DynamicShapes()  # type: ignore[no-untyped-call]
        with ExitStack() as watches:
            # Torch's counter fails at the operators of torch.func and flex_attention.
            if not isinstance(call.function, HigherOrderOperator):
                watches.enter_context(self._counting)
                watches.enter_context(shapes)
            returned = super().perform(call)
        step = replace(
            self._step(call, returned),
            random=not all(map(torch.equal, before, global_states())),
            work=self._counter.get_total_flops() - work,
        )
        self.recorded.steps[call.number] = step
        sizing = step.parents
        if step.overwritten or step.function in _SIZED_AS_FIRST:
            sizing = sizing[:1]
        if shapes.met or not self.names.sized_by_data.isdisjoint(sizing):
            self.names.sized_by_data.update(step.names)
        return returned

    def _check_parameters(self, call: TorchCall) -> None:
        """Raise InputError if a call uses a parameter that is not the model's own."""
        for tensor, name in zip(call.inputs, call.parents, strict=True):
            if name == FOREIGN and isinstance(tensor, nn.Parameter):
                raise InputError(
                    f"{self._running[-1] or 'the model'} uses a parameter of shape "
                    f"{tuple(tensor.shape)} that is not among the model's own: "
                    "register the module that it belongs to (no plain list, closure "
                    "or global variable)"
                )

    def _step(self, call: TorchCall, returned: object) -> Step:
        """Describe a call that has returned."""
        values, tree = tree_flatten(returned)
        leaves = _leaves(values, call.inputs)
        # Inputs that were written into have the name of this call now.
        names = enumerate(map(self.name_of, call.inputs))
        written = tuple(at for at, name in names if name == (call.number, -1 - at))
        indexes = [leaf.index for leaf in leaves if isinstance(leaf, NewTensor)]
        indexes += [-1 - at for at in written]
        arguments = (call.args, call.kwargs)
        return Step(
            function=getattr(call.function, "__name__", ""),
            parents=call.parents,
            names=tuple((call.number, index) for index in indexes),
            leaves=leaves,
            tree=tree,
            overwritten=written,
            owner=self._running[-1],
            settings=repr(tree_map_only(Tensor, lambda tensor: "tensor", arguments)),
        )

    def visiting(self, model: nn.Module) -> ExitStack:
        """Return a context that records the modules that run, and their results."""
        hooks = ExitStack()
        for name, module in model.named_modules():
            hooks.enter_context(
                module.register_forward_pre_hook(partial(self._entering, name))
            )
            hooks.enter_context(
                module.register_forward_hook(self._leaving, always_call=True)
            )
        return hooks

    def _entering(self, name: str, module: nn.Module, inputs: object) -> None:
        self._running.append(name)

    def _leaving(self, module: nn.Module, inputs: object, output: object) -> None:
        """Record the visit of a module that has returned its output."""
        with torch._C.DisableTorchFunction():  # these questions are not the model's
            names = tuple(map(self.name_of, tensors_of(output)))
            shapes = tuple(map(TensorFacts.of, tensors_of(output)))
            leaves, _ = tree_flatten(output, _is_packed)
            packed = set[Name]()
            for sequence in filter(_is_packed, leaves):
                packed.update(map(self.name_of, filter(torch.is_tensor, sequence)))
        work = self._counter.get_total_flops()
        visit = Visit(self._running.pop(), names, shapes, work, frozenset(packed))
        self.recorded.visits.append(visit)


def _is_packed(value: object) -> bool:
    """Return whether a value is a packed sequence, whose parts belong together."""
    return isinstance(value, PackedSequence)


def _leaves(values: list[Any], inputs: list[Tensor]) -> tuple[Leaf, ...]:
    """Describe the parts of what a call returned."""
    leaves: list[Leaf] = []
    index = 0
    for value in values:
        if not isinstance(value, Tensor):
            leaves.append(PlainValue(value))
            continue
        numbers = [number for number, tensor in enumerate(inputs) if tensor is value]
        if numbers:
            leaves.append(PassedInput(numbers[0]))
        else:
            leaves.append(NewTensor(index, alias(value, inputs)))
        index += 1
    return tuple(leaves)


# The results of these functions have the size of their first input, as has a value that
# is written in place.
_SIZED_AS_FIRST = {"index_add", "index_copy", "index_put", "scatter"}
_SIZED_AS_FIRST |= {"scatter_add", "scatter_reduce"}
