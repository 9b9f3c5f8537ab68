"""A study as it was written, checked as a whole: every problem by its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from probe.errors import InputError, unknown
from probe.validation import message, problems, shown
from scenarios.study.scenario_spec import KINDS
from scenarios.study.spec import Study

_BITS = 63  # of TOML's whole numbers, beside the sign


def check_study(raw: Mapping[str, Any], source: str) -> Study:
    """Return the study that `raw` describes; raises one InputError with all problems, by path."""
    for path, number in _whole_numbers(raw):
        if number.bit_length() > _BITS:
            raise InputError(f"{source}: {path}: expected a number of 64 bits, got {shown(number)}")
    try:
        return Study.model_validate(raw)
    except ValidationError as error:
        found = "; ".join(map(_problem, problems(error)))
        raise InputError(f"{source}: {found}") from None


def _whole_numbers(table: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield every whole number within tables and lists, each with its path."""
    left: list[tuple[str, object]] = [("", table)]
    while left:
        path, value = left.pop()
        if isinstance(value, Mapping):
            left += [(f"{path}.{name}".removeprefix("."), entry) for name, entry in value.items()]
        elif isinstance(value, list | tuple):
            left += [(f"{path}.{index}", entry) for index, entry in enumerate(value)]
        elif isinstance(value, int):
            yield path, value


def _problem(detail: ErrorDetails) -> str:
    """Return one problem as `path: what is wrong`, in the words of a study's file."""
    path = [str(part) for part in detail["loc"] if part != "[key]"]
    # A union's tag is part of pydantic's path, and stands in no file.
    where = path[0] if path else ""
    if where in ("orders", "scenario") and len(path) > 1:
        del path[1]
    return f"{'.'.join(path)}: {_message(detail, where)}".removeprefix(": ")


def _message(detail: ErrorDetails, where: str) -> str:
    if detail["type"] == "union_tag_invalid":
        return str(unknown("kind of scenario", str(detail["ctx"]["tag"]), KINDS))
    if detail["type"] == "string_type" and where == "orders":
        rules = "rotate, none, shuffle:N or a table of orders"
        return f"expected {rules}, got {shown(detail['input'])}"
    return message(detail)
