"""Names for the values of a forward pass: the same name is the same value, in every run.

A `Naming` follows a forward pass, sees every call of a torch function and gives each
tensor that comes out a name. The name depends on the computation of the value, never on
its time: so a value of one run can be used in another run under its name.

Why the same name means the same value: the input, the parameters and the buffers have
names of their own, and a call of a function on equal values in eval mode gives equal
values. So by induction over the calls everything with the same name is equal, as long
as the named parameters and buffers do not change. The induction does not cover numbers
that a model passes to a function and that change over time; `checks` looks for these.
"""

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from probe.batch import Value, identical, tensors
from probe.cut.batch_dimension import unusual
from probe.immutable import AnyFunction
from probe.modules import innermost, tensors_in, values_in

Name = tuple[int, int]
"""(call, index): output number `index` of a call, or its input number -1 - `index`, overwritten."""

Names = tuple[Name, ...]
"""The names of several values."""

OnValue = Callable[[Name, Tensor], object]
"""A function that is called with each new value, of any shape, and its name."""

# The first tensor of the input; (-1, i) is the one after i others.
INPUT: Name = (-1, 0)
FOREIGN: Name = (-2, 0)  # a constant that the model holds without registering it
LIVE: Name = (-3, 0)  # what depends on something that is trained, or on chance


def of_input(name: Name) -> bool:
    """Return whether a name stands for a tensor of the input."""
    return name[0] == INPUT[0]


class Numbering:
    """Numbers of the calls met so far, over all runs of one model.

    A call is identified by its function, the names of its input tensors, and how often
    the same call has occurred before in the run. Its other arguments, which may hold
    the batch size, do not count, nor do calls elsewhere. So a value keeps its name when
    other parts of the model change their mode, their path or their weights.

    >>> names = Numbering()
    >>> names.call("relu", INPUT, 1), names.call("relu", INPUT, 2), names.call("relu", INPUT, 1)
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self._calls: dict[Hashable, int] = {}
        # Values whose size depends on the data, so that a replay does not know it.
        self.sized_by_data = set[Name]()

    def __deepcopy__(self, memo: object) -> "Numbering":
        return self  # shared: a copy of a model computes what the model does

    def call(self, *key: Hashable) -> int:
        """Return the number of a call, a new number for a new call."""
        return self._calls.setdefault(key, len(self._calls))


@dataclass(slots=True, eq=False)
class Tag:
    """The name of a tensor's current content, and the writes through its views.

    Attributes:
        run: The pass that gave the name, None for parameters and buffers.
        name: The name.
        written: The names of all writes into the memory that the tensor shares with its
            views, in one list for all of them.
        seen: The number of these writes that the name includes; if there are more, it
            is outdated.
    """

    run: "Naming | None"
    name: Name
    written: list[Name]
    seen: int = 0

    def __deepcopy__(self, memo: object) -> "Tag":
        return self  # on a tensor that a model keeps: it means nothing to another run


@dataclass(slots=True)
class TorchCall:
    """One call of a torch function, before it is run.

    Attributes:
        function: The function.
        args: The positional arguments.
        kwargs: The keyword arguments.
        inputs: The tensors among the arguments, in order.
        parents: The names of the inputs.
        number: The number of the call, LIVE's if any parent is live.
    """

    function: AnyFunction
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: list[Tensor]
    parents: Names
    number: int


class Naming(TorchFunctionMode):
    """The names of all tensors in one forward pass, which it follows.

    Use it as a context around the forward pass.

    Args:
        names: The numbers of calls, shared by all runs of a model.
        state: The tags of the model's parameters and buffers, by the tensors' ids.
        on_value: Function to call with each new value and its name.
    """

    def __init__(
        self, names: Numbering, state: Mapping[int, Tag], on_value: OnValue
    ) -> None:
        super().__init__()
        self.names = names
        self.on_value = on_value
        self._state = state
        self._before: Counter[Hashable] = Counter()
        # Tensors within transforms of torch.func with their tags, by their memory.
        self._transformed: dict[int, tuple[Tensor, Tag]] = {}

    def __torch_function__(
        self,
        func: AnyFunction,
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        """Name a call of a torch function by what it reads, and perform it.

        Functions that torch calls within this method do not come here again.
        """
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":  # of a property, which has the name
            name = getattr(getattr(func, "__self__", None), "__name__", "")
        sized_by_data = self.names.sized_by_data if name in _OF_SIZE else None
        if name in _QUESTIONS and not sized_by_data:
            return func(*args, **kwargs)
        inputs = tensors_in((args, kwargs))
        if sized_by_data and sized_by_data.isdisjoint(map(self.name_of, inputs)):
            return func(*args, **kwargs)
        parents = tuple(map(self.name_of, inputs))
        number = LIVE[0]
        if LIVE not in parents:
            # The count tells two calls on the same values apart: each may draw its own
            # numbers.
            self._before[func, parents] += 1
            number = self.names.call(func, parents, self._before[func, parents])
        return self.perform(TorchCall(func, args, kwargs, inputs, parents, number))

    def perform(self, call: TorchCall) -> Any:
        """Run a call, and name the values that it overwrites and returns.

        Subclasses record the call here, or return a value without running the call.
        """
        result, written = run_watched(call)
        # Before the result is named: it may be a view of what was overwritten.
        self.overwrite(call, written)
        for at in written:
            self.on_value((call.number, -1 - at), call.inputs[at])
        return self.name_result(call.number, call.inputs, result)

    def on_changed_view(self, name: Name, parents: Names) -> None:
        """Handle a value that changed because its memory was written through another view.

        Args:
            name: The new name of the value.
            parents: The names of the values that it depends on.
        """

    def name_result(
        self,
        number: int,
        inputs: list[Tensor],
        result: Any,
    ) -> Any:
        """Name the new tensors in the return value of a call.

        If a call returns its own input, as dropout does in eval mode, it is replaced by
        a new object: in training mode it may have another value, so the two must not
        share a name.

        Args:
            number: The number of the call.
            inputs: The tensors that the call received.
            result: The return value of the call, with tensors of any shape.

        Returns:
            The result, with the new objects in it.
        """

        def apart(tensor: Tensor) -> Tensor:
            """Return a new object for an input that is returned, any other tensor as it is."""
            is_input = any(tensor is other for other in inputs)
            # Nested and sparse tensors have no aliases.
            if not is_input or self.name_of(tensor)[0] == number or unusual(tensor):
                return tensor
            # Not by a view, which may change the strides of dimensions of size 1: torch
            # chooses kernels by strides.
            return cast(Tensor, torch.ops.aten.alias(tensor))

        result = tree_map_only(Tensor, apart, result)
        for index, tensor in enumerate(tensors_in(result)):
            if not any(tensor is argument for argument in inputs):
                # A view shares its memory, so that a write to either changes both.
                shared = alias(tensor, inputs)
                self.tag(
                    tensor, (number, index), None if shared is None else inputs[shared]
                )
                self.on_value((number, index), tensor)
        return result

    def name_of(self, tensor: Tensor) -> Name:
        """Return the name of the current content of a tensor of any shape.

        If its memory was written through another view since it was named, it is a new
        value, named after the old one and the writes.
        """
        if (tag := self._tag_of(tensor)) is None:
            return FOREIGN
        if tag.seen == len(tag.written):
            return tag.name
        changes = tag.written[tag.seen :]
        if tag.name == LIVE or LIVE in changes:
            return LIVE
        parents = (tag.name, *changes)
        name = (self.names.call("seen through a view", parents), 0)
        self.on_changed_view(name, parents)
        self.on_value(name, tensor)
        return name

    def tag(
        self,
        tensor: Tensor,
        name: Name,
        base: Tensor | None = None,
    ) -> None:
        """Give a tensor a name.

        Args:
            tensor: The tensor, of any shape.
            name: The name.
            base: A tensor that shares its memory, if there is one.
        """
        written = [] if base is None else self._known_tag(base).written
        self.attach(tensor, Tag(self, name, written, len(written)))

    def tag_input(self, x: Value) -> None:
        """Give the tensors of the input, each (B, ...), their names."""
        for at, tensor in enumerate(tensors(x)):
            self.tag(tensor, (INPUT[0], at))
            self.on_value((INPUT[0], at), tensor)

    def overwrite(self, call: TorchCall, written: Sequence[int]) -> None:
        """Rename the inputs that a call wrote into, and note the write for all their views.

        Args:
            call: The call.
            written: The indices of these inputs.
        """
        changed = []
        for at in written:
            tag = self._known_tag(call.inputs[at])
            if tag.name != LIVE:
                tag.name = LIVE if call.number == LIVE[0] else (call.number, -1 - at)
                tag.written.append(tag.name)
                changed.append(tag)
        for tag in changed:  # they may share their memory with each other
            tag.seen = len(tag.written)

    def attach(self, tensor: Tensor, tag: Tag) -> None:
        """Attach a tag to a tensor, in place of an earlier one.

        Args:
            tensor: The tensor, of any shape.
            tag: The tag.
        """
        inner = innermost(tensor)
        inner._probe_tag = tag  # type: ignore[attr-defined]
        # A transform of torch.func may hand out another object for this memory.
        if inner is not tensor:
            self._transformed[_memory_of(inner)] = inner, tag

    def _known_tag(self, tensor: Tensor) -> Tag:
        """Return a tensor's tag; a tensor without one is tagged as a constant from outside."""
        if (tag := self._tag_of(tensor)) is None:
            self.attach(tensor, tag := Tag(self, FOREIGN, []))
        return tag

    def _tag_of(self, tensor: Tensor) -> Tag | None:
        """Return a tensor's tag in this run, None if the run has not named it."""
        # Parameters are found by their ids: a tag on them would stay there when the run
        # is over.
        inner = innermost(tensor)
        tag = self._state.get(id(inner)) or getattr(inner, "_probe_tag", None)
        if tag is None and self._transformed:
            with torch._C.DisableTorchFunction():  # a hook may ask for the name
                _, tag = self._transformed.get(_memory_of(inner), (inner, None))
        # A tensor that the model keeps from an earlier run carries that run's tag.
        return tag if tag is not None and tag.run in (self, None) else None


def run_watched(call: TorchCall) -> tuple[Any, list[int]]:
    """Run a call and find the inputs that it wrote into.

    Torch counts the writes into every tensor's memory for autograd.

    Args:
        call: The call.

    Returns:
        The result, and the indices of these inputs.
    """
    before = list(map(_content, call.inputs))
    result = call.function(*call.args, **call.kwargs)
    pairs = enumerate(zip(call.inputs, before, strict=True))
    return result, [at for at, (tensor, old) in pairs if not _holds(tensor, old)]


def _content(tensor: Tensor) -> int | Tensor:
    """Return what changes when a tensor is written into: torch's count of writes, or a copy."""
    inner = innermost(tensor)
    # Under torch.inference_mode no writes are counted.
    return inner.clone() if inner.is_inference() else inner._version


def _holds(tensor: Tensor, content: int | Tensor) -> bool:
    """Return whether a tensor was not written into since `_content` returned this content."""
    inner = innermost(tensor)
    return (
        identical(inner, content)
        if isinstance(content, Tensor)
        else inner._version == content
    )


def alias(tensor: Tensor, others: list[Tensor]) -> int | None:
    """Find the first of other tensors that shares memory with a tensor.

    Args:
        tensor: A tensor of any shape.
        others: The tensors to search.

    Returns:
        Its index in `others`, None if none shares memory.

    >>> import torch
    >>> x = torch.ones(2, 3)
    >>> alias(x.view(6), [torch.ones(6), x]), alias(x + 1, [x])
    (1, None)
    """
    memory = _memory_of(tensor)
    return next(
        (at for at, other in enumerate(others) if _memory_of(other) == memory), None
    )


def _memory_of(tensor: Tensor) -> int:
    """Return a number that tensors have in common if and only if they share memory."""
    return int(values_in(tensor).untyped_storage()._cdata)


def eagerly() -> AbstractContextManager[object]:
    """Run a block without torch's compiler, whose calls could not be followed."""
    # If nothing has imported the compiler, its slow import is avoided.
    if sys.modules.keys() & {"torch._dynamo", "torch.nn.attention.flex_attention"}:
        return torch.compiler.set_stance("force_eager")  # type: ignore[no-any-return]
    return nullcontext()


def words(text: str) -> frozenset[str]:
    """Return the words of a text, here the names of functions."""
    return frozenset(text.split())


# Questions of a model's code to a tensor whose answers do not depend on its values. They
# are not steps of the computation, and can be answered for a value that was not computed.
_QUESTIONS = words(
    "shape dtype device ndim layout requires_grad is_leaf grad_fn is_cuda is_cpu "
    "is_mps is_xpu is_xla is_meta is_mkldnn is_sparse is_quantized is_nested itemsize "
    "nbytes names _version size dim ndimension numel nelement stride storage_offset "
    "__len__ is_contiguous is_floating_point is_complex is_signed is_inference "
    "is_conj is_neg element_size get_device has_names"
)
# Where a size depends on the data, asking for it reads a value.
_OF_SIZE = words("shape size numel nelement nbytes __len__")
