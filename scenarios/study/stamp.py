"""What the tables and figures of a run directory were made of, so that none is made twice."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from probe.files import replacing
from probe.regular import regular_file
from probe.tables.run_directory import TABLES, TIMES
from scenarios.study.quarantine import set_aside
from scenarios.study.sealing import read_sealed, sealed

_NAME = "tables.json"
_PACKAGES = ("probe", "figures", "scenarios")
_PICTURES = (".png", ".svg")
_LARGEST = 2**32  # bytes of a file that is hashed: far above what one of ours can have
_DRAWN_WITH = ("matplotlib", "numpy")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What was asked for when a study was finished, for those who ask for the same again.

    command: a hash of the command; data: how every file of its data was then, see `state`.
    """

    command: str
    data: Mapping[str, Sequence[int] | None]


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """What the tables and figures of a whole study were made of.

    made_of: see `sources`; files: their SHA-256, by path in the run directory, in the order in
    which they are shown; origin: None if unknown.
    """

    made_of: str
    files: Mapping[str, str]
    origin: Origin | None

    def holds(self, root: Path, now: str) -> bool:
        """Whether nothing has changed since; now: what `sources` says of the run directory."""
        names = list(self.files)
        return self.made_of == now and names == shown(root) and hashes(root, names) == self.files


def shown(root: Path) -> list[str]:
    """Return the names of the tables and figures of a run directory, as they are shown."""
    pictures = (path for path in (root / "figures").glob("*") if path.suffix in _PICTURES)
    return [*TABLES, TIMES, *(f"figures/{path.name}" for path in sorted(pictures))]


def sources(root: Path, description: bytes) -> str:
    """Return a hash of all that tables and figures are made of.

    That is every byte of the study's description and of every finished part, and the code of this
    package. Who reads the parts may set some aside: then it is not of what was used. description:
    what is in a process's own study.json; the one that is there may by now be another's, who
    reports otherwise.
    """
    digest = hashlib.sha256(code_hash().encode() + hashlib.sha256(description).digest())
    for path in _parts(root):
        digest.update(f"{path.relative_to(root).as_posix()!r}:{_hash_if_there(path)};".encode())
    return digest.hexdigest()


def read_stamp(root: Path) -> Stamp | None:
    """Return what the tables and figures were made of, None if that is not known."""
    try:
        record = json.loads(read_sealed(root / _NAME))
    except (OSError, ValueError, RecursionError):
        return None
    match record:
        case {"made_of": str(made_of), "files": dict(files), "origin": None}:
            return Stamp(made_of=made_of, files=files, origin=None)
        case {
            "made_of": str(made_of),
            "files": dict(files),
            "origin": {"command": str(command), "data": dict(data)},
        }:
            return Stamp(made_of=made_of, files=files, origin=Origin(command=command, data=data))
        case _:
            return None


def write_stamp(root: Path, stamp: Stamp) -> None:
    """Write down what the tables and figures were made of; raises NotWritten if it cannot be.

    Not if a part was missing: one that was damaged and is computed anew has the same bytes again,
    and the tables were made without it.
    """
    path = root / _NAME
    if path.is_dir() and not path.is_symlink():
        set_aside(root, path, "it is a folder")
    with replacing(path) as partial:
        partial.write_bytes(sealed(json.dumps(asdict(stamp)).encode()))


def hashes(root: Path, names: Sequence[str]) -> dict[str, str] | None:
    """Return the SHA-256 of files of a run directory, by name; None if one of them is no file."""
    try:
        return {name: _hash(root / name) for name in names}
    except OSError:
        return None


def state(paths: Sequence[Path]) -> dict[str, list[int] | None]:
    """Return what tells whether files have changed, without reading them; None = not there.

    Of each: its size, its number, and when its content and it itself were changed last. The last of
    them nobody can set; but on tmpfs a write through a memory map changes neither.
    """
    return {str(path.absolute()): _state(path) for path in paths}


@cache
def code_hash() -> str:
    """Return a hash of this package's own code and of the versions that tables depend on.

    As they are when a process first asks: what it runs is loaded then.
    """
    digest = hashlib.sha256(repr([version(name) for name in _DRAWN_WITH]).encode())
    for package in _PACKAGES:
        for name, content in sorted(_modules(files(package), package)):
            digest.update(f"{name!r}:{len(content)};".encode() + content)
    return digest.hexdigest()


def _state(path: Path) -> list[int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return [found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns]


def _parts(root: Path) -> Iterator[Path]:
    for folder in sorted((root / "jobs").glob("*")):
        names = os.listdir(folder) if folder.is_dir() else []
        for name in sorted(names):
            if name.endswith(".json") and not name.endswith(".checkpoint.json"):
                yield folder / name


def _hash_if_there(path: Path) -> str:
    try:
        return _hash(path)
    except OSError as error:
        return f"{error.errno}"


def _hash(path: Path) -> str:
    with regular_file(path, links=False) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return hashlib.file_digest(file, "sha256").hexdigest()


def _modules(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _modules(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            yield f"{name}/{entry.name}", entry.read_bytes()
