"""The engine: networks in, predictions out, as accuracy by layer, tasks learned and task.

A `plan` lists the networks and the measurements to make; `jobs` divides it into units
of work; `engine` measures the networks of one job and stores the measurements in memory
or in a run directory (`store`). The networks are learned by a study, or were trained
elsewhere (`network_source`, `trained_networks`).
"""

from probe.by_layer.sources import (
    SOURCES as SOURCES,
)  # read before anything else is loaded
