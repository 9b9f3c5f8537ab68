"""The scenarios, learners and studies that produce continually trained models."""

# Before anything else is loaded: see there.
from probe.by_layer.sources import SOURCES as SOURCES
