"""The source files of this package, read before any of it is loaded.

Every result names the code that made it (`probe.by_layer.code`). A file may be edited
at any moment, but a process runs the code that it has loaded. So the files are read
before anything else: a file that is edited while modules are loaded then counts as
changed, never as unchanged.
"""

from collections.abc import Sequence
from pathlib import Path


def _read(root: Path, packages: Sequence[str]) -> dict[str, bytes]:
    """Return the source of every module of the packages, by dotted name.

    root: the folder with the packages. This takes some milliseconds, as nothing is
        parsed.
    """
    content_of_module = {}
    for package in packages:
        for path in (root / package).rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            content_of_module[name] = path.read_bytes()
    return content_of_module


SOURCES = _read(Path(__file__).parents[2], ("probe", "scenarios"))
"""The source of each module of `probe` and `scenarios`, by its dotted name."""
