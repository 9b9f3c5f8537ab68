"""Checks declared once, by annotated fields, and what they find wrong in plain sentences.

A frozen dataclass that is made a `configuration` has its fields checked by pydantic, whether it is
made in Python or read from a file as part of a larger pydantic model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import wraps
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

from pydantic import ConfigDict, Field, Strict, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from probe.errors import InputError

Class = TypeVar("Class")

PositiveInt = Annotated[int, Strict(), Field(ge=1)]
"""A whole number from 1; neither a text nor a truth value is taken for one."""

PositiveFloat = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
"""A finite number above 0."""

FromZero = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
"""A finite number, 0 or more."""

ShareBelowOne = Annotated[float, Strict(), Field(ge=0, lt=1)]
"""A number, 0 or more and below 1."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
def configuration(cls: type[Class]) -> type[Class]:
    """Make a frozen dataclass, keyword-only, whose fields hold what their annotations allow.

    Made in Python, it raises InputError with all problems in one sentence. As a field of a pydantic
    model it leaves them to that model's error, which knows the full path of each.

    >>> @configuration
    ... class Schedule:
    ...     epochs: PositiveInt = 5
    >>> Schedule(epochs=2)
    Schedule(epochs=2)
    >>> Schedule(epochs=0)
    Traceback (most recent call last):
    probe.errors.InputError: epochs: expected 1 or more, got 0
    """
    config = ConfigDict(extra="forbid")
    made = cast(type[Class], dataclass(cls, frozen=True, kw_only=True, config=config))
    check = made.__init__

    # A pydantic model that holds such a class fills it in without calling this.
    @wraps(check)
    def checked(self: Any, **fields: Any) -> None:
        try:
            check(self, **fields)
        except ValidationError as error:
            raise InputError("; ".join(map(problem, problems(error)))) from None

    made.__init__ = checked  # type: ignore[method-assign]
    return made


def problems(error: ValidationError) -> Iterator[ErrorDetails]:
    """Yield all that pydantic found wrong, but for lists called too short by wrong entries."""
    for detail in error.errors(include_url=False):
        short = detail["type"] == "too_short"
        if not short or len(detail["input"]) < detail["ctx"]["min_length"]:
            yield detail


def problem(detail: ErrorDetails) -> str:
    """Return one problem as `path: what is wrong`, the path being that of its field."""
    return f"{'.'.join(map(str, detail['loc']))}: {message(detail)}".removeprefix(": ")


def message(detail: ErrorDetails) -> str:
    """Return what is wrong, in the words of TOML and without pydantic's own additions."""
    kind = detail["type"]
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        name = str(detail["loc"][-1])
        if name in _RENAMED:
            return f"{name} is called {_RENAMED[name]} now"
        return "there is no such key, correct or remove it"
    if kind == "value_error":
        return detail["msg"].removeprefix("Value error, ")
    return _SAID.get(kind) or f"{expected(detail)}, got {shown(detail['input'])}"


def expected(detail: ErrorDetails) -> str:
    """Return what was expected in place of the value, such as `expected a whole number`."""
    if detail["type"] not in _EXPECTED:
        return detail["msg"]
    return f"expected {_EXPECTED[detail['type']]}".format(**detail.get("ctx", {}))


def shown(value: object) -> str:
    """Return a value as TOML would name or write it, cut off where it is long.

    >>> shown(True), shown([1, 2]), shown("x" * 100)[-5:]
    ('true', 'a list of 2', 'xx...')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"a table of {len(value)}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 60  # characters of a value that are shown

_RENAMED = {"optimiser": "optimizer"}  # old spellings, which files may still have

_SAID = {
    "missing": "this key is needed",
    "none_required": "there is no choice here: leave this key out",
    "union_tag_not_found": "this key is needed",
}

# What TOML calls what pydantic found something else in place of.
_EXPECTED = {
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "dataclass_type": "a table",
    "string_type": "text in quotes",
    "string_unicode": "text of Unicode characters",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "literal_error": "{expected}",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "less_than_equal": "{le:g} or less",
    "too_short": "{min_length} or more entries",
    "too_long": "no more than {max_length} entries",
    "string_too_long": "no more than {max_length} characters",
    "string_pattern_mismatch": "letters, digits and ._- after a letter or digit",
}
