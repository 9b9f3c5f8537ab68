"""The modules of the learners, found in their text: importing them would load torch."""

import re

from probe.by_layer.sources import SOURCES

_MARKED = re.compile(rb'^@learner\("([\w:-]+)"\)$', re.MULTILINE)


def _modules() -> dict[str, str]:
    """Find the learners in the text of modules, as most of these load torch."""
    module_of_kind: dict[str, str] = {}
    for module in sorted(SOURCES, key=lambda name: (name.count("."), name)):
        if module.startswith("scenarios.learners."):
            kinds = _MARKED.findall(SOURCES[module])
            module_of_kind |= {kind.decode(): module for kind in kinds}
    return module_of_kind


MODULES = _modules()
"""The module of each learner of this package."""
