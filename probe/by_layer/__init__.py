"""The engine: networks in, stored counts out, as accuracy by layer, tasks learned and task.

A `plan` lists the networks and the measurements to make; `jobs` divides it into units of work;
`engine` measures the networks of one job by its `reader`, whether they are given (`given`, in files
or in memory) or learned by a study, and stores the measurements in memory or in a run directory
(`store`). `request` makes the plan for given networks.
"""

from probe.by_layer.sources import SOURCES as SOURCES  # read before anything else is loaded
