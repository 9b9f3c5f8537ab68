"""The learners that are compared, with the settings of the papers where these give one."""

from __future__ import annotations

from scenarios.learners.base import Settings
from scenarios.learners.distillation.lwf import LwfSettings
from scenarios.learners.finetune import FinetuneSettings
from scenarios.learners.penalties.ewc import EwcSettings
from scenarios.learners.penalties.si import SiSettings
from scenarios.learners.replay.er import ErSettings
from scenarios.learners.replay.gem import GemSettings

SETTINGS: dict[str, Settings] = {
    settings.kind: settings
    for settings in (
        FinetuneSettings(),
        ErSettings(memory_per_class=128),
        EwcSettings(strength=75_000.0),
        SiSettings(strength=1.0, damping=1e-3),
        LwfSettings(strength=1.0, temperature=2.0),
        GemSettings(memory_per_class=128, margin=0.5),
    )
}
