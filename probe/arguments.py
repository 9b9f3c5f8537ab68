"""Arguments of public functions, checked by their annotations."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce, wraps
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    InstanceOf,
    Strict,
    TypeAdapter,
    ValidationError,
)

from probe.errors import InputError
from probe.immutable import AnyFunction
from probe.validation import expected, message, plain_number

_P = ParamSpec("_P")
_T = TypeVar("_T")

_IN_64_BITS = Field(ge=-(2**63), lt=2**63)
_NO_PATH = re.compile("^$|[\0\ud800-\udc7f\udd00-\udfff]")
_SHOWN = (bool, int, float, str, Path, NoneType)

# Of what TOML has no word for, or another.
_TEXTS = {
    "string_type": "a text",
    "dict_type": "a mapping",
    "list_type": "a list",
    "callable_type": "a function",
}


def checked(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Check the plain arguments of a public function by their annotations.

    Plain are numbers, texts, names, paths, functions and settings of ours. Arguments
    that may have many forms, such as networks and data, are checked by the function.

    >>> from probe.validation import PositiveInt
    >>> @checked
    ... def part(features: Sequence[str], batch_size: PositiveInt | None = None) -> None: ...
    >>> part("conv1")
    Traceback (most recent call last):
    probe.errors.InputError: features must be a list, got 'conv1'
    >>> part(["conv1"], 2.5)
    Traceback (most recent call last):
    probe.errors.InputError: batch_size must be a whole number, got 2.5
    """
    signature = inspect.signature(function)

    @cache
    def adapter(name: str) -> TypeAdapter[Any]:
        annotation = signature.parameters[name].annotation
        return TypeAdapter(_checkable(_evaluate(function, annotation)))

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            try:
                bound.arguments[name] = adapter(name).validate_python(value)
            except ValidationError as error:
                raise InputError(f"{name} must be {_problem(error)}") from None
        return function(*bound.args, **bound.kwargs)

    return call


def _problem(error: ValidationError) -> str:
    """Return what an argument must be, or an entry of a list, and what was got."""
    details = error.errors(include_url=False)
    deepest = max(details, key=lambda detail: len(detail["loc"]))
    texts: dict[str, None] = {}
    for detail in details:
        if len(detail["loc"]) == len(deepest["loc"]):
            kind = detail["type"]
            text = message(detail)
            if kind != "value_error":
                text = expected(detail).removeprefix("expected ")
            texts[_TEXTS.get(kind, text)] = None
    value = deepest["input"]
    got = type(value).__name__
    if isinstance(value, _SHOWN):
        got = f"{value!r:.60}"
    return f"{' or '.join(texts)}, got {got}"


def _evaluate(function: AnyFunction, annotation: Any) -> Any:
    """Return an annotation that may be a text; Any for a name that only mypy knows."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)  # noqa: S307
    except NameError:
        return Any


def _checkable(kind: Any) -> Any:
    """Return what pydantic checks of an annotation; Any for what is not plain."""
    origin: Any = get_origin(kind)
    if origin is Literal:
        return kind
    if origin is Callable:
        return AnyFunction
    inner = get_args(kind)
    if not inner:
        return _checkable_class(kind)
    if origin is Annotated:
        return Annotated[_checkable(inner[0]), *inner[1:]]
    parts = tuple(map(_checkable, inner))
    if Any in parts:
        return Any
    if origin in (Union, UnionType):
        union: Any = reduce(or_, parts)
        return Annotated[union, AfterValidator(_path)] if Path in inner else union
    if origin in (Sequence, Iterable):
        return Annotated[list.__class_getitem__(parts[0]), BeforeValidator(_as_list)]
    if origin is tuple or (origin is Mapping and inner[0] is str):
        return origin[parts]
    return Any


def _checkable_class(kind: Any) -> Any:
    """Return what pydantic checks of a class: plain ones, and ours but for protocols."""
    if kind is int:
        return Annotated[int, BeforeValidator(plain_number), Strict(), _IN_64_BITS]
    if kind is float:
        return Annotated[float, BeforeValidator(plain_number), Strict()]
    if kind in (bool, str):
        return Annotated[kind, Strict()]
    home = getattr(kind, "__module__", "")
    is_ours = home.startswith("probe.") and not getattr(kind, "_is_protocol", False)
    if kind is Path or is_ours or home in ("torch", "torch._C"):
        return Annotated[kind, InstanceOf()]  # type: ignore[type-arg]
    if kind is NoneType:
        return kind
    return Any


def _as_list(value: object) -> object:
    """Return the entries of anything but a text or mapping as a list."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return list(value)
    return value


def _path(value: object) -> object:
    """Return a path; raises ValueError for one that no system knows."""
    if isinstance(value, str | Path) and _NO_PATH.search(str(value)):
        raise ValueError("the path of a file or folder")
    return value
