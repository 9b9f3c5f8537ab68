"""All learners by name, one line each; the module of one is imported when it is asked for.

A user's own are marked by `learner`, and known once their file is loaded (`scenarios.own_code`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Annotated

from pydantic import PlainValidator, SerializeAsAny

from probe.errors import InputError
from probe.registered import OwnLearner, mark
from scenarios.learners.base import Learner, Settings
from scenarios.own_code import REGISTRY, unregistered

MODULES = MappingProxyType(
    {
        "finetune": "finetune:Finetune",
        "offline": "joint:Offline",
        "untrained": "joint:Untrained",
        "cumulative": "joint:Cumulative",
        "er": "replay.er:ExperienceReplay",
        "ewc": "penalties.ewc:Ewc",
        "ewc_online": "penalties.ewc_online:EwcOnline",
        "si": "penalties.si:SynapticIntelligence",
        "rwalk": "penalties.rwalk:RWalk",
        "lwf": "distillation.lwf:LearningWithoutForgetting",
        "gem": "replay.gem:GradientEpisodicMemory",
        "icarl": "distillation.icarl:Icarl",
        "icarl_hybrid1": "distillation.icarl:IcarlHybrid1",
        "pathnet": "kemker.pathnet:PathNet",
        "geppnet": "kemker.geppnet:Geppnet",
        "geppnet_stm": "kemker.geppnet_stm:GeppnetStm",
        "fel": "kemker.fel:FixedExpansion",
    }
)
"""Where each learner's class is, as MODULE:CLASS below `scenarios.learners`."""


# What `probe model` makes: no file of a study names it, as it needs the networks' hashes.
_UNLISTED = {"checkpoints": "checkpoints:GivenLearner"}


class Catalog(Mapping[str, type[Learner]]):
    """Learner classes by the name that studies use for them.

    Names are known without importing a learner; asking for a class imports its module.

    >>> "er" in LEARNERS, LEARNERS["er"].__name__
    (True, 'ExperienceReplay')
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, kind: str) -> type[Learner]:
        if kind in REGISTRY.learners:
            return REGISTRY.learners[kind].learner
        # Python keeps imported modules: the second time costs nothing.
        module, _, name = {**self._modules, **_UNLISTED}[kind].partition(":")
        learner: type[Learner] = getattr(import_module(f"scenarios.learners.{module}"), name)
        return learner

    def __iter__(self) -> Iterator[str]:
        yield from self._modules
        yield from REGISTRY.learners

    def __len__(self) -> int:
        return len(self._modules) + len(REGISTRY.learners)

    def __contains__(self, kind: object) -> bool:
        # Mapping's own would import the learner's module.
        return kind in self._modules or kind in _UNLISTED or kind in REGISTRY.learners


LEARNERS = Catalog(MODULES)


def learner(kind: str) -> Callable[[type[Learner]], type[Learner]]:
    """Mark a class of learners, so that a study can name it by its kind.

    Its `settings_class` says `kind: Literal[KIND] = KIND`. Raises InputError for another kind.
    """

    def decorate(cls: type[Learner]) -> type[Learner]:
        if not (isinstance(cls, type) and issubclass(cls, Learner)):
            got = getattr(cls, "__name__", type(cls).__name__)
            raise InputError(f"@learner({kind!r}) marks {got}: mark a class below Learner")
        own = cls.settings_class.model_fields["kind"]
        if own.default != kind:
            raise InputError(
                f"the settings of {cls.__name__} have kind {own.default!r}: write "
                f"kind: Literal[{kind!r}] = {kind!r} in them"
            )
        return mark(cls, OwnLearner(name=kind, learner=cls))

    return decorate


def settings_of(table: object) -> Settings:
    """Return the settings that a table describes, checked by the class of its learner.

    table: maps `kind` to a name of `LEARNERS` and other keys to that learner's settings; settings
    that are checked already are returned as they are. Raises InputError for an unknown kind, and
    pydantic's ValidationError, with a path within the table, for anything else that is wrong.

    >>> settings_of({"kind": "er", "memory_per_class": 20}).budget.per_class
    20
    """
    if isinstance(table, Settings):
        return table
    if not isinstance(table, Mapping) or "kind" not in table:
        return Settings.model_validate(table)  # which says what is wrong with it
    kind = str(table["kind"])
    if kind not in LEARNERS:
        raise unregistered("learner", kind, MODULES, REGISTRY.learners)
    return LEARNERS[kind].settings_class.model_validate(table)


AnySettings = Annotated[SerializeAsAny[Settings], PlainValidator(settings_of)]
"""A field of a pydantic model that holds the settings of any learner."""
