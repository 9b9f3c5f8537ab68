"""All learners by name, and the union of their settings."""

from typing import Annotated

from pydantic import Field

from scenarios.learners.base import Learner
from scenarios.learners.distillation.icarl import (
    Icarl,
    IcarlHybrid1,
    IcarlHybrid1Settings,
    IcarlSettings,
)
from scenarios.learners.distillation.lwf import LearningWithoutForgetting, LwfSettings
from scenarios.learners.finetune import Finetune, FinetuneSettings
from scenarios.learners.joint import Cumulative, CumulativeSettings, Offline, OfflineSettings
from scenarios.learners.kemker.fel import FelSettings, FixedExpansion
from scenarios.learners.kemker.geppnet import Geppnet, GeppnetSettings
from scenarios.learners.kemker.geppnet_stm import GeppnetStm, GeppnetStmSettings
from scenarios.learners.kemker.pathnet import PathNet, PathNetSettings
from scenarios.learners.penalties.ewc import Ewc, EwcSettings
from scenarios.learners.penalties.ewc_online import EwcOnline, EwcOnlineSettings
from scenarios.learners.penalties.rwalk import RWalk, RWalkSettings
from scenarios.learners.penalties.si import SiSettings, SynapticIntelligence
from scenarios.learners.replay.er import ErSettings, ExperienceReplay
from scenarios.learners.replay.gem import GemSettings, GradientEpisodicMemory

AnySettings = Annotated[
    FinetuneSettings
    | OfflineSettings
    | CumulativeSettings
    | ErSettings
    | EwcSettings
    | EwcOnlineSettings
    | SiSettings
    | RWalkSettings
    | LwfSettings
    | GemSettings
    | IcarlSettings
    | IcarlHybrid1Settings
    | PathNetSettings
    | GeppnetSettings
    | GeppnetStmSettings
    | FelSettings,
    Field(discriminator="kind"),
]

LEARNERS: dict[str, type[Learner]] = {
    "finetune": Finetune,
    "offline": Offline,
    "cumulative": Cumulative,
    "er": ExperienceReplay,
    "ewc": Ewc,
    "ewc_online": EwcOnline,
    "si": SynapticIntelligence,
    "rwalk": RWalk,
    "lwf": LearningWithoutForgetting,
    "gem": GradientEpisodicMemory,
    "icarl": Icarl,
    "icarl_hybrid1": IcarlHybrid1,
    "pathnet": PathNet,
    "geppnet": Geppnet,
    "geppnet_stm": GeppnetStm,
    "fel": FixedExpansion,
}
