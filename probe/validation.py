"""Checks declared by annotated fields, with problems reported in plain sentences.

Pydantic checks the fields of a `configuration`, whether it is made in Python or read
from a file as part of a larger pydantic model.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, Strict, Tag, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails
from typing_extensions import dataclass_transform

from probe.errors import InputError

Class = TypeVar("Class")

PositiveInt = Annotated[int, Strict(), Field(ge=1, le=2**63 - 1)]
"""A whole number from 1; text and booleans are refused."""

WholeNumber = Annotated[int, Strict(), Field(ge=0, le=2**63 - 1)]
"""A whole number, 0 or more; text and booleans are refused."""

PositiveFloat = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
"""A finite number above 0."""

FromZero = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
"""A finite number, 0 or more."""

ShareBelowOne = Annotated[float, Strict(), Field(ge=0, lt=1)]
"""A number, 0 or more and below 1."""

Share = Annotated[float, Strict(), Field(gt=0, le=1)]
"""A number above 0 and up to 1."""


MOST = 10_000
"""The largest number of sessions, orders or seeds of a study."""


def plain_number(value: object) -> object:
    """Return a number of NumPy as Python's, anything else unchanged."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


class StrictModel(BaseModel):
    """Frozen settings that refuse unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def configuration(cls: type[Class]) -> type[Class]:
    """Make a frozen, keyword-only dataclass whose fields are checked by their annotations.

    If it is made in Python, it raises InputError with all problems in one sentence. As
    a field of a pydantic model, it leaves them to the model's error, which knows the
    full path of each.

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
    settings = cast(
        type[Class], dataclass(cls, frozen=True, kw_only=True, config=config)
    )
    check = settings.__init__

    # A pydantic model that holds such a class fills it in without calling this.
    @wraps(check)
    def checked(self: Any, **fields: Any) -> None:
        try:
            check(self, **{name: plain_number(value) for name, value in fields.items()})
        except ValidationError as error:
            texts = (problem(p, keys_at(settings, p["loc"])) for p in problems(error))
            raise InputError("; ".join(texts)) from None

    settings.__init__ = checked  # type: ignore[method-assign]
    return settings


def problems(error: ValidationError) -> Iterator[ErrorDetails]:
    """Yield pydantic's problems, except lists reported as too short because of wrong entries."""
    for detail in error.errors(include_url=False):
        short = detail["type"] == "too_short"
        if not short or len(detail["input"]) < detail["ctx"]["min_length"]:
            yield detail


def problem(detail: ErrorDetails, keys: Sequence[str] = ()) -> str:
    """Return one problem as `path of the field: problem`.

    Args:
        detail: The problem as pydantic reports it.
        keys: The keys of the table with the field, see `keys_at`.
    """
    return f"{'.'.join(map(str, detail['loc']))}: {message(detail, keys)}".removeprefix(
        ": "
    )


def keys_at(kind: Any, path: Sequence[str | int]) -> list[str]:
    """Return the keys that may stand in place of a path's last one, for a message.

    Args:
        kind: The checked class, a pydantic model or a `configuration`.
        path: The path in it as pydantic reports it, with a union's tags; its last entry
            is a key.

    Returns:
        The keys, sorted; empty where they are not known.

    >>> from pydantic import BaseModel
    >>> class Plan(BaseModel):
    ...     name: str
    ...     times: "dict[str, Plan] | None" = None
    >>> keys_at(Plan, ["times", "noon", "nmae"])
    ['name', 'times']
    """
    kinds = [kind]
    for part in path[:-1]:
        kinds = [inner for outer in kinds for inner in _within(outer, part)]
    return sorted(
        {name for outer in kinds for plain in _plain(outer) for name in _fields(plain)}
    )


def _within(kind: Any, part: str | int) -> Iterator[Any]:
    """Yield the annotations at a part of a path: of a field, an entry, or a union's tag."""
    members = [kind]
    if get_origin(kind) in _UNIONS:
        members = [*get_args(kind)]
    for member in members:
        tags = [tag.tag for tag in get_args(member)[1:] if isinstance(tag, Tag)]
        if part in tags:
            yield get_args(member)[0]
            continue
        for plain in _plain(member):
            if part in _fields(plain):
                yield _fields(plain)[str(part)].annotation
            else:
                yield from get_args(
                    plain
                )  # the keys and values of a table, the entries of a list


def _plain(kind: Any) -> Iterator[Any]:
    """Yield the plain types of an annotation, without unions and metadata."""
    if get_origin(kind) is Annotated:
        yield from _plain(get_args(kind)[0])
    elif get_origin(kind) in _UNIONS:
        for member in get_args(kind):
            yield from _plain(member)
    else:
        yield kind


def _fields(kind: Any) -> Mapping[str, Any]:
    """Return the fields of a model or `configuration` by name, of anything else none."""
    fields = getattr(kind, "model_fields", None) or getattr(
        kind, "__pydantic_fields__", None
    )
    return fields if isinstance(fields, Mapping) else {}


def message(detail: ErrorDetails, keys: Sequence[str] = ()) -> str:
    """Return a problem in the words of TOML, without pydantic's own additions.

    Args:
        detail: The problem as pydantic reports it.
        keys: The keys of the table, to suggest one for an unknown key.
    """
    kind = detail["type"]
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        name = str(detail["loc"][-1]).lower()
        key_of_lower = {key.lower(): key for key in keys}
        near = get_close_matches(_SHORT.get(name, name), key_of_lower, n=2, cutoff=0.6)
        names = " or ".join(repr(key_of_lower[lower]) for lower in near)
        hint = f"did you mean {names}?" if near else "correct or remove it"
        if 0 < len(keys) <= _FEW:
            hint += f" (known: {', '.join(keys)})"
        return f"unknown key: {hint}"
    if kind == "value_error":
        return detail["msg"].removeprefix("Value error, ")
    return _MESSAGES.get(kind) or f"{expected(detail)}, got {shown(detail['input'])}"


def expected(detail: ErrorDetails) -> str:
    """Return the expectation of a value, such as `expected a whole number`."""
    if detail["type"] not in _EXPECTED:
        return detail["msg"]
    return f"expected {_EXPECTED[detail['type']]}".format(**detail.get("ctx", {}))


def shown(value: object) -> str:
    """Return a value in a message: of a collection its size, a text in quotes, what is long cut.

    >>> shown(True), shown([1, 2]), shown("x" * 100)[-5:]
    ('true', 'a list of 2', 'xx...')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping | list | tuple):
        return f"a {'table' if isinstance(value, Mapping) else 'list'} of {len(value)}"
    text = str(value)
    if isinstance(value, str | int | float):
        text = repr(value)
    text = " ".join(text.split())  # data frames and tensors have lines
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}..."


_UNIONS = (Union, UnionType)
_FEW = 8  # keys of a table that are listed
_LONGEST = 60  # characters of a value that are shown

_SHORT = {"lr": "learning_rate"}  # what many programs call a key

_MESSAGES = {
    "missing": "this key is needed",
    "none_required": "there is no choice here: leave this key out",
    "union_tag_not_found": "this key is needed",
}

# Expectations of pydantic in the words of TOML.
_TABLES = ("dict_type", "model_type", "model_attributes_type", "dataclass_type")
_EXPECTED = {
    **dict.fromkeys(_TABLES, "a table"),
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "tuple_type": "a list",
    "is_instance_of": "{class}",
    "string_type": "text in quotes",
    "string_unicode": "text of Unicode characters",
    "int_parsing_size": "a whole number of fewer digits",
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
