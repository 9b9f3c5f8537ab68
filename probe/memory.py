"""Free memory, and memory-mapped files for data that do not fit into it."""

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from probe.arrays import Array
from probe.errors import NotWritten

_ASSUMED = 4 * 10**9  # bytes of free memory, where the system does not say


def free_memory(device: torch.device) -> int:
    """Return how many bytes can still be taken on a device.

    On the CPU, this is the smaller of the memory that Linux calls available and the
    room left by the control groups (version 1 and 2) around this process; page cache
    that can be reclaimed counts as free. On a system that reports neither, 4 GB are
    assumed.
    """
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    facts = dict(line.split(":") for line in _lines(Path("/proc/meminfo")))
    room = list(cgroup_room())
    if "MemAvailable" in facts:
        room.append(int(facts["MemAvailable"].split()[0]) * 1024)
    return min(room, default=_ASSUMED)


def cgroup_room(
    root: Path = Path("/sys/fs/cgroup"), groups: Path = Path("/proc/self/cgroup")
) -> Iterator[int]:
    """Yield the bytes left below each memory limit of this process's control groups.

    Args:
        root: The folder in which the groups are mounted.
        groups: The file that lists the groups of this process.
    """
    for line in _lines(groups):
        _, controllers, path = line.split(":", 2)
        mount = root
        names = ("memory.max", "memory.current", "inactive_file")
        if controllers:  # version 1
            mount = root / "memory"
            names = _NAMES_OF_VERSION_1
        if not controllers or "memory" in controllers.split(","):
            group = mount / path.strip("/")
            # Every group above limits too. Inside a container the path may be the
            # host's: the root then is the container's own.
            for folder in (group, *group.parents):
                if folder.is_relative_to(mount):
                    yield from _room(folder, *names)


_NAMES_OF_VERSION_1 = (
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "total_inactive_file",
)


def _room(folder: Path, limit: str, usage: str, reclaimable_key: str) -> Iterator[int]:
    """Yield the bytes left below a control group's memory limit, nothing if it has no such file."""
    for most in _lines(folder / limit):
        used = sum(map(int, _lines(folder / usage)))
        stat = dict(line.split() for line in _lines(folder / "memory.stat"))
        bound = 2**63  # no limit
        if most != "max":
            bound = int(most)
        yield max(0, bound - used + int(stat.get(reclaimable_key, 0)))


def _lines(file: Path) -> list[str]:
    """Return the lines of a file, none if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def show_size(size: int) -> str:
    """Return a number of bytes with a unit of powers of ten, to one decimal.

    >>> show_size(3_300_000_000), show_size(12)
    ('3.3 GB', '12 B')
    """
    if size < 1000:
        return f"{size} B"
    # A number that rounds to 1000.0 becomes 1.0 of the next unit.
    power = next(k for k in (1, 2, 3) if k == 3 or round(size / 1000**k, 1) < 1000)
    return f"{size / 1000**power:.1f} {'KMG'[power - 1]}B"


# Rows read before their pages are let go: the kernel maps up to 2 MB of a file for
# each.
_PIECE = 32

_TRIES = 1000  # at making a file in a folder that others remove when it is empty


class MappedRows:
    """A matrix in a nameless file: `rows` (N, D), all zeros at first.

    The file has no name, so that it vanishes with the last process that maps it,
    however that ends. Its pages are page cache, which the kernel takes back when memory
    is short; but as long as they are mapped they count as this process's. They are
    therefore released after use.

    Args:
        folder: The folder of the file, made if it does not exist.
        n: The number of rows N.
        width: The number of columns D.
        dtype: The type of the numbers.

    Raises:
        NotWritten: The disk has no room for it.
    """

    def __init__(self, folder: Path, n: int, width: int, dtype: torch.dtype) -> None:
        size = n * width * dtype.itemsize
        try:
            with _nameless(folder) as file:
                os.truncate(file.fileno(), size)
                # A disk that is full only when a page is written would kill the
                # process.
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                self._map = mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise NotWritten(
                f"cannot keep values in {folder} ({error.strerror}): "
                "give another folder, by scratch= or TMPDIR"
            ) from None
        self.rows: Tensor = torch.frombuffer(self._map, dtype=dtype).view(n, width)

    def index_select(self, dim: int, indices: Tensor) -> Tensor:
        """Return the rows (B, D) at `indices` (B,), in new memory, on the device of `indices`."""
        out = self.rows.new_empty((len(indices), self.rows.shape[1]))
        for part, some in zip(
            out.split(_PIECE), indices.cpu().split(_PIECE), strict=True
        ):
            torch.index_select(self.rows, 0, some, out=part)
            self.let_go()
        return out.to(indices.device)

    def let_go(self) -> None:
        """Release the pages read and written from this process's memory; nothing is lost."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


def _nameless(folder: Path) -> IO[bytes]:
    """Return a new file without a name in a folder, which is made if it does not exist."""
    for _ in range(_TRIES):
        # Not its parents: a run directory that was moved away is not made anew.
        folder.mkdir(exist_ok=True)
        # Another process may have removed the empty folder in between.
        with suppress(FileNotFoundError):
            return tempfile.TemporaryFile(dir=folder, prefix="values.")
    return tempfile.TemporaryFile(dir=folder, prefix="values.")


_ASKED = (
    2**17
)  # bytes of a file asked for together; of more, systems may read only the first


class FileRows(Tensor):
    """Rows (N, ...) of mapped files or of large tensors, read from the CPU when they are used.

    A batch by `index_select` or a slice is read into new memory of the device. `at`,
    `split` and `cat` return such rows again without reading any. Any other operation
    first reads all rows.

    Args:
        sources: Arrays (n, ...) of real numbers without gaps in memory, which are read
            as float32; or the bytes (n, bytes) of tensors.
        places: The source of each row and its number there, (2, N) int64; None = all
            rows of the first source.
        finite: Whether NaN and Inf are ruled out.
        form: An example of the rows (1, ...) if the sources are bytes.
        device: The device that batches are copied to, None = the CPU.
    """

    sources: tuple[Array, ...]
    places: Tensor
    finite: bool
    form: Tensor | None

    # Operations are caught one level below, where torch has fewer.
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(  # noqa: D102
        cls,
        sources: Sequence[Array],
        places: Any = None,
        finite: bool = False,
        form: Tensor | None = None,
        device: torch.device | None = None,
    ) -> Self:
        if places is None:
            indices = torch.arange(len(sources[0]), device="cpu")
            places = torch.stack([torch.zeros_like(indices), indices])
        shape = sources[0].shape[1:] if form is None else form.shape[1:]
        dtype = torch.float32 if form is None else form.dtype
        size = (places.shape[1], *shape)
        device = device or torch.device("cpu")
        rows: Self = Tensor._make_wrapper_subclass(
            cls, size, dtype=dtype, device=device
        )
        rows.sources = tuple(sources)
        rows.places = places
        rows.finite = finite
        rows.form = form
        return rows

    @classmethod
    def of(cls, tensor: Tensor) -> Self:
        """Return the rows of a tensor (N, ...) on the CPU, which share its memory."""
        if isinstance(tensor, cls):
            return tensor
        raw = tensor.detach().contiguous().view(len(tensor), -1).view(torch.uint8)
        return cls([raw.numpy()], form=tensor[:1].detach())

    def at(self, indices: Tensor | slice) -> Self:
        """Return the rows at `indices` (n,), int64 from 0, unread."""
        if isinstance(indices, Tensor):
            indices = indices.cpu()
        return self._like(self.sources, self.places[:, indices], self.form)

    def on(self, device: torch.device) -> Self:
        """Return the same rows, unread, whose batches are copied to a device."""
        return type(self)(self.sources, self.places, self.finite, self.form, device)

    def _like(
        self, sources: Sequence[Array], places: Tensor, form: Tensor | None
    ) -> Self:
        return type(self)(sources, places, self.finite, form, self.device)

    def flat(self) -> Self:
        """Return the rows as (N, D), unread."""
        form = None if self.form is None else self.form.flatten(1)
        sources = [source.reshape(len(source), -1) for source in self.sources]
        return self._like(sources, self.places, form)

    def read(self, indices: Tensor | slice) -> Tensor:
        """Return the rows at `indices` (n,) as a plain tensor (n, ...) on the device."""
        rows = self._read(indices.cpu() if isinstance(indices, Tensor) else indices)
        if self.device.type == "cuda" and torch.cuda.is_available():
            rows = rows.pin_memory()  # so that nobody waits for the copy
        return rows.to(self.device, non_blocking=True)

    def _read(self, indices: Tensor | slice) -> Tensor:
        """Return copies of rows (B, ...) from the sources, decoded to the tensor's type."""
        if self.form is not None and len(self.sources) == 1:
            raw = torch.from_numpy(self.sources[0]).index_select(
                0, self.places[1, indices]
            )
            return raw.view(self.dtype).view(len(raw), *self.shape[1:])
        sources, numbers = self.places[:, indices].numpy()
        out = torch.empty((len(numbers), *self.shape[1:]), dtype=self.dtype)
        if not out.numel():
            return out
        rows = out.view(len(out), -1).view(torch.uint8).numpy()
        for source in np.unique(sources):
            part = _bytes(self.sources[source], numbers[sources == source])
            if self.form is None:
                # Numbers too large for float32 become Inf, which is refused.
                with np.errstate(over="ignore"):
                    values = part.view(self.sources[source].dtype).astype(np.float32)
                part = values.view(np.uint8)
            rows[sources == source] = part
        return out

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Carry out an operation of torch, with the function in `_BY_ROWS` if there is one."""
        result = _BY_ROWS[func](*args) if func in _BY_ROWS and not kwargs else None
        if result is not None:
            return result
        args, kwargs = tree_map_only(
            FileRows, lambda x: x.read(slice(None)), (args, kwargs or {})
        )
        return func(*args, **kwargs)


def _bytes(source: Array, numbers: Array) -> Array:
    """Return the bytes (n, bytes) of the rows of an array at `numbers` (n,)."""
    # By bytes: numpy first copies the whole of an array that is not aligned as its type
    # wants.
    raw = source.reshape(len(source), -1).view(np.uint8)
    if isinstance(raw, np.memmap) and hasattr(mmap, "MADV_WILLNEED"):
        _ask_for(raw, numbers)
    return np.asarray(raw.view(np.ndarray).take(numbers, 0))


def _ask_for(raw: Any, numbers: Array) -> None:
    """Ask the system to begin reading these rows of a mapped file (N, bytes), and no others."""
    # Left to itself it reads some megabytes around each row, and waits for each.
    raw._mmap.madvise(mmap.MADV_RANDOM)
    begin = raw.offset % mmap.ALLOCATIONGRANULARITY
    cuts = np.flatnonzero(np.diff(numbers, prepend=-2, append=-2) != 1)
    for first, after in pairwise(cuts):
        start = begin + int(numbers[first]) * raw.shape[1]
        end = start + int(after - first) * raw.shape[1]
        for at in range(start - start % mmap.PAGESIZE, end, _ASKED):
            raw._mmap.madvise(mmap.MADV_WILLNEED, at, min(_ASKED, end - at))


def _join(parts: Sequence[Tensor], dim: int = 0) -> FileRows | None:
    """Concatenate rows, or return None if that is impossible; plain tensors become sources."""
    kinds = {(part.shape[1:], part.dtype, part.device) for part in parts}
    forms = [part.form for part in parts if isinstance(part, FileRows)]
    is_plain = [form is None for form in forms]
    if dim or len(kinds) > 1 or any(is_plain) != all(is_plain):
        return None
    blocks = [_as_rows(part, bytewise=forms[0] is not None) for part in parts]
    sources = {id(source): source for block in blocks for source in block.sources}
    number_of = {key: number for number, key in enumerate(sources)}
    places = []
    for block in blocks:
        numbers = [number_of[id(source)] for source in block.sources]
        source_of, rows = block.places
        places.append(torch.stack([rows.new_tensor(numbers)[source_of], rows]))
    return FileRows(
        [*sources.values()],
        torch.cat(places, 1),
        all(block.finite for block in blocks),
        forms[0],
        parts[0].device,
    )


def _as_rows(tensor: Tensor, bytewise: bool) -> FileRows:
    """Return a tensor as FileRows, its values as bytes or as numbers of their type."""
    if isinstance(tensor, FileRows):
        return tensor
    if bytewise:
        return FileRows.of(tensor.cpu())
    return FileRows([tensor.cpu().contiguous().numpy()])


_aten = torch.ops.aten
_BY_ROWS: dict[Any, Callable[..., Any]] = {
    _aten.detach.default: lambda rows: rows.at(slice(None)),
    _aten.index_select.default: lambda rows, dim, at: None if dim else rows.read(at),
    _aten.slice.Tensor: lambda rows, dim=0, start=None, end=None, step=1: (
        None if dim else rows.read(slice(start, end, step))
    ),
    _aten.split.Tensor: lambda rows, size, dim=0: (
        None
        if dim
        else [rows.at(slice(k, k + size)) for k in range(0, len(rows), size)]
    ),
    _aten.cat.default: _join,
    _aten.as_strided.default: lambda rows, size, stride, at=None: (
        rows.flat()
        if [*size, *stride, at]
        == [len(rows), (D := rows.shape[1:].numel()), D, 1, None]
        else None
    ),
}
