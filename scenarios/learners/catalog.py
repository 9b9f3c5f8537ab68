"""All learners by name: subclasses of `Learner` in this folder, marked by `probe.learner`.

The module of a learner is imported when its class is asked for. User-defined learners
are marked the same way, and are known while their file is loaded
(`scenarios.user_code`).
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Annotated

from pydantic import PlainValidator, SerializeAsAny

from probe.extensions import LearnerEntry, marked_in
from scenarios.learners.base import Learner, Settings
from scenarios.learners.modules import MODULES
from scenarios.user_objects import USER_LEARNERS, unregistered


class Catalog(Mapping[str, type[Learner]]):
    """Learner classes by the name that studies use for them.

    Names are known without importing a learner; asking for a class imports its module.

    >>> "er" in LEARNERS, LEARNERS["er"].__name__
    (True, 'ExperienceReplay')
    """

    def __getitem__(self, kind: str) -> type[Learner]:
        if kind in USER_LEARNERS:
            return USER_LEARNERS[kind].learner
        return _shipped(kind)

    def __iter__(self) -> Iterator[str]:
        return chain(MODULES, USER_LEARNERS)

    def __len__(self) -> int:
        return len(MODULES) + len(USER_LEARNERS)

    def __contains__(self, kind: object) -> bool:
        # Mapping's own would import the learner's module.
        return kind in MODULES or kind in USER_LEARNERS


@cache
def _shipped(kind: str) -> type[Learner]:
    """Return a learner of this package; a study asks for it thousands of times."""
    names = vars(import_module(MODULES[kind]))
    return next(e.learner for e in marked_in(names, LearnerEntry) if e.name == kind)


LEARNERS = Catalog()


def settings_of(table: object) -> Settings:
    """Return the settings that a table describes, checked by the class of its learner.

    Args:
        table: A mapping of `kind` to a name of `LEARNERS` and of other keys to that
            learner's settings; checked settings are returned as they are.

    Returns:
        The settings.

    Raises:
        InputError: The kind is unknown.
        ValidationError: Anything else is wrong; the error has its path within the
            table.

    Example:
        >>> settings_of({"kind": "er", "memory_per_class": 20}).budget.per_class
        20
    """
    if isinstance(table, Settings):
        return table
    if not isinstance(table, Mapping):
        return Settings.model_validate(table)  # which says what is wrong with it
    kind = str(table.get("kind", ""))
    if kind not in LEARNERS:
        raise unregistered("learner", kind, MODULES, USER_LEARNERS)
    return LEARNERS[kind].settings_class.model_validate(table)


AnySettings = Annotated[SerializeAsAny[Settings], PlainValidator(settings_of)]
"""A field of a pydantic model that holds the settings of any learner."""
