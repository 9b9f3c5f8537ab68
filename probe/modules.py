"""Modules of a model: layers by name, modes, buffers and copies."""

import copy
import dis
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import BuiltinFunctionType, FunctionType

import torch
from torch import Tensor, nn
from torch.fx import Graph, GraphModule
from torch.nn.parameter import is_lazy
from torch.nn.utils.parametrize import type_before_parametrizations

from probe.batch import Named
from probe.errors import InputError, unknown

_CPU = torch.device("cpu")


def check_model(model: object) -> None:
    """Check that an object is a model.

    Args:
        model: The object.

    Raises:
        InputError: The object is no model, an unfinished one, or scripted.
    """
    if not isinstance(model, nn.Module):
        got = type(model).__name__
        if isinstance(model, type):
            got = f"the class {model.__name__}"
        raise InputError(
            f"the model must be an instance of torch.nn.Module, got {got}: make one"
        )
    if not hasattr(model, "_parameters"):
        raise InputError(
            f"{type(model).__name__} is no complete module: call super().__init__() "
            "first in its __init__"
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise InputError("the model is scripted: use the module it comes from")


def check_values(model: nn.Module) -> None:
    """Check that all tensors have values, unlike in lazy modules or on the device meta.

    Args:
        model: The model.

    Raises:
        InputError: A parameter or buffer has no value.
    """
    for name, tensor in named_state(model).items():
        if is_lazy(tensor) or tensor.device.type == "meta":
            raise InputError(
                f"{name!r} has no values (lazy, or on the device meta): build it on the "
                "CPU, and run it on a batch"
            )


def check_network(network: nn.Module, name: str = "the model") -> None:
    """Check that an object is a network that has not diverged.

    Args:
        network: The object.
        name: Its name in messages.

    Raises:
        InputError: It is no module, or a value is missing, NaN or, in a parameter,
            infinite.
    """
    check_model(network)
    check_values(network)
    if key := diverged_in(network):
        raise InputError(
            f"{name} has NaN or Inf in {key!r}: it diverged; take an earlier one"
        )


def diverged_in(network: nn.Module) -> str:
    """Return the name of a tensor with NaN or, in a parameter, Inf; "" if there is none."""
    for name, tensor in named_state(network).items():
        values = reals_in(tensor)
        odd = values.isnan()
        if isinstance(tensor, nn.Parameter):
            odd = ~values.isfinite()  # a mask among the buffers may hold -inf
        if odd.any():
            return name
    return ""


def check_not_quantized(state: Mapping[str, object], name: str) -> None:
    """Check that a state dict holds tensors alone, unlike that of a quantized network.

    Args:
        state: The state dict.
        name: The network's name in messages.

    Raises:
        InputError: A value is no tensor.
    """
    for key, value in state.items():
        if not isinstance(value, Tensor):
            raise InputError(
                f"{name} is quantized ({key!r} is no tensor): give it in floats"
            )


def layer(model: nn.Module, name: str) -> nn.Module:
    """Return a module by its dotted name.

    Args:
        model: The model.
        name: The dotted name of the module.

    Returns:
        The module.

    Raises:
        InputError: There is no such module; the message suggests the nearest names.
    """
    modules: dict[str, nn.Module] = dict(model.named_modules(remove_duplicate=False))
    if not name or name not in modules:
        raise unknown("feature", name, filter(None, modules))
    return modules[name]


@contextmanager
def tap(
    model: nn.Module, names: Iterable[str], receive: Callable[[str, object], None]
) -> Iterator[None]:
    """Call a function each time one of the named layers has run within the block.

    For a layer that runs twice, it is called twice. The hooks are removed after the
    block.

    Args:
        model: The network.
        names: The dotted names of the layers.
        receive: Function to call with the name and the output. The output is the live
            object, which a later in-place operation overwrites: copy it to keep it.

    >>> import torch
    >>> model = nn.Sequential(nn.Flatten(), nn.ReLU())
    >>> with tap(model, ["1"], lambda name, output: print(name, tuple(output.shape))):
    ...     _ = model(torch.zeros(2, 3, 4))
    1 (2, 12)
    """
    with ExitStack() as hooks:
        for name in names:
            hook = partial(
                lambda name, module, inputs, output: receive(name, output), name
            )
            hooks.enter_context(layer(model, name).register_forward_hook(hook))
        yield


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the model inside wrappers such as `DataParallel` and `torch.compile`.

    >>> unwrapped(nn.DataParallel(nn.ReLU()))
    ReLU()
    """
    while name := _WRAPPERS.get(type(model).__name__):
        model = model.get_submodule(name)
    return model


def named_state(model: nn.Module) -> Named:
    """Return every parameter and buffer, of any shape, by each of its names."""
    parameters = model.named_parameters(remove_duplicate=False)
    buffers = model.named_buffers(remove_duplicate=False)
    return dict(parameters) | dict(buffers)


def detached(tensors: Mapping[str, Tensor]) -> Named:
    """Return copies of tensors by name, without gradients."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def trained_of(model: nn.Module) -> list[nn.Parameter]:
    """Return the parameters of a model that are trained."""
    return [p for p in model.parameters() if p.requires_grad]


@torch.no_grad()
def restore(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Restore a model, in place, to the values that `named_state` returned.

    Unlike `load_state_dict`, it also restores buffers that are not persistent and
    buffers whose shape has changed.

    Args:
        model: The model.
        state: The values by name.

    >>> model = nn.Linear(2, 2)
    >>> before = {name: value.clone() for name, value in named_state(model).items()}
    >>> _ = model.bias.data.add_(1)
    >>> restore(model, before)
    >>> torch.equal(model.bias, before["bias"])
    True
    """
    for name, tensor in named_state(model).items():
        value = state.get(name)
        # In place where possible: a replay knows a tensor by its identity.
        if isinstance(tensor, nn.Parameter) or _form(tensor) == _form(value):
            tensor.copy_(state[name])
        else:
            put(model, name, value)


def put(model: nn.Module, name: str, value: Tensor | None) -> None:
    """Give a model another tensor under a dotted name."""
    owner, _, last = name.rpartition(".")
    setattr(model.get_submodule(owner), last, value)


def _form(tensor: Tensor | None) -> object:
    """Return what two tensors have in common if one can be copied into the other."""
    return tensor is not None and (tensor.shape, tensor.dtype, tensor.device)


def innermost(tensor: Tensor) -> Tensor:
    """Return the tensor inside wrappers of torch.func's transforms, or the tensor without any."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def values_in(tensor: Tensor) -> Tensor:
    """Return the dense tensor that holds the values of a tensor, which may be sparse or jagged.

    >>> values_in(torch.eye(2).to_sparse())
    tensor([1., 1.])
    """
    tensor = innermost(tensor)
    if tensor.layout is torch.strided:
        return tensor
    if tensor.is_sparse:
        return tensor._values()
    return tensor.values()


def reals_in(tensor: Tensor) -> Tensor:
    """Return a tensor's values, also of a sparse one, as real numbers: a complex one as two."""
    values = values_in(tensor)
    if values.is_complex():
        return torch.view_as_real(values)
    return values


def state_groups(model: nn.Module) -> list[tuple[str, ...]]:
    """Return the names of all parameters and buffers, grouped by tensor.

    Freezing a tied weight under one name and training it under another would change it.

    >>> tied = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2))
    >>> tied[1].weight = tied[0].weight
    >>> state_groups(tied)
    [('0.weight', '1.weight'), ('1.bias',)]
    """
    groups: dict[tuple[int, int, int], list[str]] = {}
    for name, tensor in named_state(model).items():
        # Two parameters may be two objects on one piece of memory.
        values = values_in(tensor)
        memory = (
            values.untyped_storage()._cdata,
            int(values.storage_offset()),
            values.numel(),
        )
        groups.setdefault(memory, []).append(name)
    return [tuple(group) for group in groups.values()]


def architecture(model: nn.Module) -> dict[str, object]:
    """Return the class of each module, the shape and type of each parameter and buffer, and ties.

    Classes that are made anew with each network, as within a function, are compared by
    their code and the values that it uses.

    >>> architecture_difference(architecture(nn.Linear(2, 3)), architecture(nn.Linear(2, 4)))
    'bias'
    """
    model = unwrapped(model)
    modules = {
        name or _ROOT: _class_identity(module) for name, module in model.named_modules()
    }
    # A buffer that is not saved may be made for the inputs' size when the network first
    # runs.
    state = named_state(model)
    for prefix, module in model.named_modules():
        for name in module._non_persistent_buffers_set:
            state.pop(f"{prefix}.{name}".lstrip("."), None)
    shapes = {name: (tuple(t.shape), t.dtype) for name, t in state.items()}
    return {**modules, **shapes, _TIES: tuple(sorted(state_groups(model)))}


def _class_identity(module: nn.Module) -> object:
    """Return what is equal for two modules whose classes have the same code.

    A traced module is made of its graphs: in training mode its class may run another.
    """
    kind = type_before_parametrizations(module)
    if not isinstance(module, GraphModule):
        return _Class(kind)
    graphs = (graph for graph in vars(module).values() if isinstance(graph, Graph))
    sources = frozenset(graph.python_code("self").src for graph in graphs)
    return sources, *map(_Class, kind.__bases__)


class _Class:
    """A class, which is equal to another one of the same code.

    A class that is made within a function or a notebook's cell, or whose file is loaded
    again, is a new object each time.
    """

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Class):
            return False
        return self.kind is other.kind or _code_of(self.kind) == _code_of(other.kind)

    def __hash__(self) -> int:
        return hash(self.kind.__qualname__)


def _code_of(kind: type) -> object:
    """Return a class's name, its bases, the code of its methods, and the values that it uses.

    Values that the methods write, such as counters, are left out.
    """
    used: dict[tuple[str, ...], object] = {}
    written = set[str]()
    for name, member in vars(kind).items():
        # That of a static method, of a class method or of a property.
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(function, FunctionType):
            variables = inspect.getclosurevars(function)
            values = {**variables.globals, **variables.nonlocals}
            used |= {(name, other): value for other, value in values.items()}
            for instruction in dis.get_instructions(function):
                if instruction.opname in _WRITES:
                    written.add(instruction.argval)
        elif name.startswith("__"):
            continue
        used[name,] = function
    contents = {
        names: _content(value)
        for names, value in used.items()
        if names[-1] not in written
    }
    return kind.__qualname__, tuple(map(_Class, kind.__bases__)), contents


def _content(value: object) -> object:
    """Return a function's code, a plain value itself, of anything else its type."""
    if isinstance(value, FunctionType):
        return value.__code__
    if isinstance(value, str | float | int | BuiltinFunctionType):
        return value
    return type(value)


def architecture_difference(
    before: Mapping[str, object], after: Mapping[str, object]
) -> str:
    """Find the first name at which two architectures differ.

    Args:
        before: The first architecture, by name.
        after: The second architecture, by name.

    Returns:
        The name, empty if they are the same.
    """
    differ = [n for n in before.keys() | after.keys() if before.get(n) != after.get(n)]
    return min(differ, key=lambda name: (name == _TIES, name), default="")


def frozen_in(model: nn.Module) -> Iterator[str]:
    """Yield the names of frozen parameters, and of buffers of modules with no other parameters."""
    for name, module in model.named_modules(remove_duplicate=False):
        parameters = list(
            module.named_parameters(recurse=False, remove_duplicate=False)
        )
        frozen = [key for key, value in parameters if not value.requires_grad]
        if parameters and len(frozen) == len(parameters):
            frozen += [key for key, _ in module.named_buffers(recurse=False)]
        yield from (f"{name}.{key}".removeprefix(".") for key in frozen)


_WRITES = {"STORE_ATTR", "STORE_DEREF", "STORE_GLOBAL"}
_TIES = "its ties"
_ROOT = "its class"
# By their names: to import them is slow, and some builds of torch lack them.
_WRAPPERS = dict.fromkeys(
    ("DataParallel", "DistributedDataParallel", "AveragedModel"), "module"
)
_WRAPPERS["OptimizedModule"] = "_orig_mod"


def device_of(model: nn.Module, otherwise: torch.device = _CPU) -> torch.device:
    """Return the device of a model's parameters.

    Args:
        model: The model.
        otherwise: The device for a model without parameters.
    """
    return next((parameter.device for parameter in model.parameters()), otherwise)


@contextmanager
def mode(model: nn.Module, training: bool) -> Iterator[None]:
    """Put the model into train or eval mode; restore each module's own mode, also after a failure.

    Args:
        model: The model.
        training: Whether to put it into train mode.

    >>> model = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    >>> with mode(model, training=False):
    ...     [m.training for m in model]
    [False, False]
    >>> [m.training for m in model]
    [True, False]
    """
    before = [(module, module.training) for module in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        # First by the model's own `train`, which may do more than set flags.
        model.train(before[0][1])
        for module, flag in before:
            module.training = flag


@contextmanager
def eval_with_gradients(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode within the block, in which gradients are computed.

    On a GPU, cuDNN computes none for recurrent layers in eval mode, and is not used.
    """
    cudnn = torch.backends.cudnn
    was_enabled = cudnn.enabled
    is_recurrent = any(isinstance(module, nn.RNNBase) for module in model.modules())
    with mode(model, training=False):
        try:
            if is_recurrent:
                cudnn.enabled = False
            yield
        finally:
            if is_recurrent:
                cudnn.enabled = was_enabled


def forget(model: nn.Module) -> None:
    """Make modules with their own `train` method drop the values that they cache in eval mode.

    Some vision transformers compute attention biases once and keep them until
    `train()`, so that a trace of a later pass would miss their computation. All modes
    are restored afterwards.
    """
    for module in list(model.modules()):
        if type(module).train is not nn.Module.train and not module.training:
            with mode(module, training=True):
                pass


def copied(model: nn.Module) -> nn.Module:
    """Copy a model, including tensors that torch does not copy.

    Such tensors are values kept from the last pass, or instances of a subclass without
    copies.
    """
    memo = {}
    for module in model.modules():
        for tensor in tensors_in(vars(module)):
            # torch copies only leaves of the graph; what is none is kept by its value.
            kind = type(tensor)
            odd = kind is not Tensor and kind.__deepcopy__ is Tensor.__deepcopy__
            if odd or not tensor.is_leaf:
                value = tensor.detach().clone()
                if isinstance(tensor, nn.Parameter):
                    value = nn.Parameter(value, tensor.requires_grad)
                memo[id(tensor)] = value
    return copy.deepcopy(model, memo)


@contextmanager
def kept_buffers(model: nn.Module) -> Iterator[None]:
    """Restore the value of every buffer after the block, also after a failure.

    >>> norm = nn.BatchNorm1d(2)
    >>> with kept_buffers(norm):
    ...     _ = norm(torch.ones(3, 2))
    >>> int(norm.num_batches_tracked)
    0
    """
    buffers = dict(model.named_buffers(remove_duplicate=False))
    values = detached(buffers)
    try:
        yield
    finally:
        for name, buffer in buffers.items():
            # A forward pass may have put another in its place.
            put(model, name, buffer)
            buffer.detach().copy_(values[name])


@contextmanager
def kept_state(model: nn.Module) -> Iterator[None]:
    """Let passes within the block change only copies of a model's buffers and other attributes.

    So what a model counts, draws or keeps from one pass to the next is as it was. The
    model shares its parameters with the copies, and what has no copy.

    >>> norm = nn.BatchNorm1d(2)
    >>> norm.calls = []
    >>> with kept_state(norm):
    ...     norm.calls.append(norm(torch.ones(3, 2)))
    >>> norm.calls, int(norm.num_batches_tracked)
    ([], 0)
    """
    modules = list(model.modules())
    memo = {id(shared): shared for shared in (*modules, *model.parameters())}
    before = [dict(vars(module)) for module in modules]
    for module, attributes in zip(modules, before, strict=True):
        for name in attributes.keys() - vars(nn.Module()).keys() | {"_buffers"}:
            value = attributes[name]
            # Some have no copy: a lock, or a value in the graph of the last step.
            with suppress(Exception):
                # A module may leave large objects, such as its trainer, out of its
                # copies.
                if module.__getstate__()[name] is value:
                    vars(module)[name] = copy.deepcopy(value, memo)
    try:
        yield
    finally:
        for module, attributes in zip(modules, before, strict=True):
            vars(module).clear()
            vars(module).update(attributes)


def tensors_in(value: object) -> list[Tensor]:
    """Return the tensors, of any shape, in nested tuples, lists and dicts, in order.

    >>> len(tensors_in((torch.ones(2), [None, {"a": torch.ones(3)}], 5)))
    2
    """
    if isinstance(value, Tensor):
        return [value]
    # Called on the arguments of every call that is followed: no deeper search than
    # models need.
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in tensors_in(part)]
    return []
