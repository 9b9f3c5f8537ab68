"""The engine: networks in, stored counts out, as accuracy by layer, tasks learned and task.

A `plan` says which networks there are and what is measured of them; `jobs` lists the work; `engine`
measures the networks of one job by its `reader`, wherever they come from (`given` in files or in
memory, or learned by a study), and stores the measurements in memory or in a run directory
(`store`). `request` makes the plan of networks that are given.
"""

from probe.by_layer.sources import SOURCES as SOURCES  # read before anything else is loaded
