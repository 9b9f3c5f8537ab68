"""The decorator of the frozen dataclasses that hold most results, settings and data."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from typing_extensions import dataclass_transform

Class = TypeVar("Class")
AnyFunction = Callable[..., Any]


@overload
def immutable(cls: type[Class], /) -> type[Class]: ...  # as @immutable
@overload
def immutable(
    *, eq: bool
) -> Callable[[type[Class]], type[Class]]: ...  # as @immutable(eq=...)
@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(field,)
)
def immutable(cls: Any = None, *, eq: bool = True) -> Any:
    """Make a dataclass that is frozen, and made with keywords only.

    Args:
        cls: The class.
        eq: Whether two objects are equal if their fields are. Objects with tensors,
            arrays or tables, whose comparison gives no single answer, are equal only to
            themselves.

    Returns:
        The dataclass, or the decorator that makes it.

    >>> @immutable
    ... class Interval:
    ...     low: float
    ...     high: float
    >>> Interval(low=0.0, high=1.0)
    Interval(low=0.0, high=1.0)
    """
    return dataclass(cls, frozen=True, kw_only=True, eq=eq)
