"""All learners by name, and the union of their settings."""

from typing import Annotated

from pydantic import Field

from scenarios.learners.base import Learner
from scenarios.learners.er import ErSettings, ExperienceReplay
from scenarios.learners.finetune import Finetune, FinetuneSettings
from scenarios.learners.joint import Cumulative, CumulativeSettings, Offline, OfflineSettings

AnySettings = Annotated[
    FinetuneSettings | OfflineSettings | CumulativeSettings | ErSettings,
    Field(discriminator="kind"),
]

LEARNERS: dict[str, type[Learner]] = {
    "finetune": Finetune,
    "offline": Offline,
    "cumulative": Cumulative,
    "er": ExperienceReplay,
}
