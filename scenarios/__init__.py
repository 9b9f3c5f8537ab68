"""The scenarios, learners and studies that produce continually trained models."""

import probe

if not hasattr(probe, "__path__"):
    raise ImportError(
        f"{probe.__file__} has the name of a package of forgetting-probe: rename it"
    )

# Before anything else is loaded: see there.
from probe.by_layer.sources import SOURCES as SOURCES
