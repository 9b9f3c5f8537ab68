"""Names in print, which may be longer than there is room for."""

from __future__ import annotations

import re
from collections.abc import Sequence


def shortened(names: Sequence[str], width: int = 24) -> list[str]:
    """Leave out the first parts of dotted names of more than `width` characters, if all stay apart.

    >>> shortened(["stem", "backbone.features.denseblock1.denselayer2.conv1"])
    ['stem', '…denselayer2.conv1']
    """
    short = [name if len(name) <= width else _end(name, width) for name in names]
    return short if len(set(short)) == len(names) else list(names)


def folded(name: str, width: int = 22) -> str:
    """Break a name after one of `._- ` where a line would outgrow `width` characters.

    >>> folded("features.denseblock3.conv2")
    'features.denseblock3.\\nconv2'
    """
    lines = [""]
    for part in re.findall(r"[^._ -]*[._ -]?", name):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _end(name: str, width: int) -> str:
    parts = name.split(".")
    ends = ["…" + ".".join(parts[k:]) for k in range(1, len(parts))]
    return next((end for end in ends if len(end) <= width), (ends or [name])[-1])
