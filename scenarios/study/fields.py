"""Types of the single fields of a study: names of folders, orders and seeds."""

import re
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, StrictInt, Tag

from probe.errors import InputError
from probe.orders import MOST, orders

LONGEST = 80
"""Most characters of a name: a job's folder has two names, and at most 255 characters in all."""


def _part_of_folder(name: str) -> str:
    """Return a name that can be part of a job's folder; raises InputError for any other."""
    if len(name) > LONGEST:
        raise InputError(
            f"{name[:20]!r}... has {len(name)} characters and is to be part of a folder's name: "
            f"use {LONGEST} or less"
        )
    # A job's folder is LEARNER.order-ORDER.seed-N: no name may contain the separators.
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_-]|\.[0-9])*", name):
        raise InputError(
            f"{name!r} is to be part of a folder's name: use letters, digits, _ and -, and a dot "
            f"only before a digit"
        )
    return name


def _order_rule(rule: str) -> str:
    """Return a rule of orders; raises InputError if there is no such rule."""
    orders(rule, tasks=1)
    return rule


def _kind_of_orders(value: object) -> str:
    """Return `rule` or `table`, the form in which orders are given."""
    return "explicit" if isinstance(value, dict) else "rule"


Name = Annotated[str, AfterValidator(_part_of_folder)]
_Rule = Annotated[str, AfterValidator(_order_rule), Tag("rule")]
_Explicit = Annotated[dict[Name, tuple[StrictInt, ...]], Field(min_length=1), Tag("explicit")]
Orders = Annotated[_Rule | _Explicit, Discriminator(_kind_of_orders)]


def _seed_kind(value: object) -> str:
    """Return whether seeds are counted or listed."""
    return "listed" if isinstance(value, list | tuple) else "counted"


def _different(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise InputError(f"seeds lists each seed once, got {list(seeds)}")
    return seeds


_Seed = Annotated[StrictInt, Field(ge=0, lt=2**31)]
Seeds = Annotated[
    Annotated[StrictInt, Field(ge=1, le=MOST), Tag("counted")]
    | Annotated[tuple[_Seed, ...], Field(min_length=1), AfterValidator(_different), Tag("listed")],
    Discriminator(_seed_kind),
]
