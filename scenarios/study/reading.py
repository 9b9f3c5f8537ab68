"""What is wrong with a study as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from probe.errors import InputError, unknown
from scenarios.study.scenario_spec import KINDS
from scenarios.study.spec import Study

_BITS = 63  # of TOML's whole numbers, beside the sign
_LONG = 60  # characters of a value that are shown


def check_study(raw: Mapping[str, Any], source: str) -> Study:
    """Return the study that `raw` describes; raises one InputError with all problems, by path."""
    for path, number in _whole_numbers(raw):
        if number.bit_length() > _BITS:
            raise InputError(
                f"{source}: {path}: expected a number of 64 bits, got {_shown(number)}"
            )
    try:
        return Study.model_validate(raw)
    except ValidationError as error:
        problems = "; ".join(_problem(d) for d in error.errors() if not _follows(d))
        raise InputError(f"{source}: {problems}") from None


def _whole_numbers(table: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield every whole number within tables and lists, each with its path."""
    left: list[tuple[str, object]] = [("", table)]
    while left:
        path, value = left.pop()
        if isinstance(value, Mapping):
            left += [(f"{path}.{name}".removeprefix("."), entry) for name, entry in value.items()]
        elif isinstance(value, list | tuple):
            left += [(f"{path}.{place}", entry) for place, entry in enumerate(value)]
        elif isinstance(value, int):
            yield path, value


def _follows(detail: ErrorDetails) -> bool:
    """Whether a list is called too short because of entries that have a problem of their own."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _problem(detail: ErrorDetails) -> str:
    """Return one problem as `path: what is wrong`, without pydantic's own additions."""
    path = [str(part) for part in detail["loc"] if part != "[key]"]
    # A union's tag is part of pydantic's path, and stands in no file.
    where = path[0] if path else ""
    if where in ("orders", "scenario") and len(path) > 1:
        del path[1]
    return f"{'.'.join(path)}: {_message(detail)}".removeprefix(": ")


# What TOML calls what pydantic found something else in place of.
_EXPECTED = {
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "dataclass_type": "a table",
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
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


def _message(detail: ErrorDetails) -> str:
    kind, got = detail["type"], detail["input"]
    if kind == "union_tag_invalid":
        return str(unknown("kind of scenario", str(detail["ctx"]["tag"]), KINDS))
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return "there is no such key, correct or remove it"
    if kind == "none_required":
        return "there is no choice here: leave this key out"
    if kind in ("missing", "union_tag_not_found"):
        return "this key is needed"
    if kind == "value_error":
        return detail["msg"].removeprefix("Value error, ")
    rule = kind == "string_type" and detail["loc"][0] == "orders"
    expected = "rotate, none, shuffle:N or a table of orders" if rule else _EXPECTED.get(kind)
    if expected is None:
        return f"{detail['msg']}, got {_shown(got)}"
    return f"expected {expected.format(**detail.get('ctx', {}))}, got {_shown(got)}"


def _shown(value: object) -> str:
    """Return a value as TOML would name or write it, cut off where it is long."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"a table of {len(value)}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, str | int | float):
        text = repr(value)
        return text if len(text) <= _LONG else f"{text[:_LONG]}..."
    return str(value)
