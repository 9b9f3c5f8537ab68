"""The scenarios, learners and studies that produce continually trained models."""

# Before anything else is loaded: see there.
from scenarios.sources import SOURCES as SOURCES
