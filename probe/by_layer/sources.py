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
    paths = [path for package in packages for path in (root / package).rglob("*.py")]
    names = [".".join(path.relative_to(root).with_suffix("").parts) for path in paths]
    return {
        name.removesuffix(".__init__"): path.read_bytes()
        for name, path in zip(names, paths, strict=True)
    }


SOURCES = _read(Path(__file__).parents[2], ("probe", "scenarios"))
"""The source of each module of `probe` and `scenarios`, by its dotted name."""
