"""The modules of a job: every worker has the same code, even if it is edited while a study runs."""

import scenarios.checkpoint_loader
import scenarios.study.training  # noqa: F401
from probe.by_layer.code import code_hash
from scenarios.learners.catalog import LEARNERS
from scenarios.learners.modules import MODULES

for name in LEARNERS:
    LEARNERS[name]  # imports its module
    code_hash((MODULES[name],))  # parses the code, once for all workers
