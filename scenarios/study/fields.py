"""Types of the single fields of a study: names of folders, orders and seeds."""

import re
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, StrictInt, Tag

from probe.errors import InputError
from probe.orders import MOST, orders
from probe.validation import shown

LONGEST = 80
"""Most characters of a name: a job's folder has two names, and at most 255 characters in all."""


def _part_of_folder(name: str) -> str:
    """Return a name that can be part of a job's folder; raises InputError for any other."""
    # A job's folder is LEARNER.order-ORDER.seed-N: no name may contain the separators.
    if len(name) > LONGEST or not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_-]|\.[0-9])*", name):
        raise InputError(
            f"{shown(name)} becomes part of a folder's name: use up to {LONGEST} letters, digits, "
            f"_ and -, and a dot only before a digit"
        )
    return name


def _order_rule(rule: str) -> str:
    """Return a rule of orders; raises InputError if there is no such rule."""
    orders(rule, tasks=1)
    return rule


def _different(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise InputError(f"seeds lists each seed once, got {list(seeds)}")
    return seeds


def _form(value: object) -> str:
    """Return whether orders or seeds are listed one by one, or follow from a rule or number."""
    return "listed" if isinstance(value, dict | list | tuple) else "rule"


Name = Annotated[str, AfterValidator(_part_of_folder)]
Orders = Annotated[
    Annotated[str, AfterValidator(_order_rule), Tag("rule")]
    | Annotated[dict[Name, tuple[StrictInt, ...]], Field(min_length=1), Tag("listed")],
    Discriminator(_form),
]
_Seed = Annotated[StrictInt, Field(ge=0, lt=2**31)]
Seeds = Annotated[
    Annotated[StrictInt, Field(ge=1, le=MOST), Tag("rule")]
    | Annotated[tuple[_Seed, ...], Field(min_length=1), AfterValidator(_different), Tag("listed")],
    Discriminator(_form),
]
