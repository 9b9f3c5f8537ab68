"""The learners that are compared, with the settings of the papers where these give one."""

from typing import Any

from scenarios.learners.base import Settings
from scenarios.learners.catalog import settings_of

_GIVEN: dict[str, dict[str, Any]] = {
    "finetune": {},
    "er": {"memory_per_class": 128},
    "ewc": {"strength": 75_000.0},
    "si": {"strength": 1.0, "damping": 1e-3},
    "lwf": {"strength": 1.0, "temperature": 2.0},
    "gem": {"memory_per_class": 128, "margin": 0.5},
}
SETTINGS: dict[str, Settings] = {
    kind: settings_of({"kind": kind, **given}) for kind, given in _GIVEN.items()
}
