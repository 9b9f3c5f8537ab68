"""TFRecord files and the fields of their messages, without TensorFlow.

A record is its length (8 bytes, little-endian), a checksum of that (4), the message,
and a checksum (4). Checksums are not verified; a file that ends within a record is
refused. A message of protocol buffers is a sequence of keys, 8 x field number + wire
type, with their values.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from probe.errors import InputError

_LENGTH = 8
_CHECKSUM = 4
_FIXED = {
    1: 8,
    5: 4,
}  # bytes of the wire types of fixed size


def records(path: Path) -> Iterator[bytes]:
    """Yield the messages of a TFRecord file.

    Args:
        path: The file.

    Raises:
        InputError: The file ends within a record.
    """
    with path.open("rb") as file:
        while head := file.read(_LENGTH + _CHECKSUM):
            size = int.from_bytes(head[:_LENGTH], "little")
            # A wild length must not be allocated.
            fits = len(head) == _LENGTH + _CHECKSUM and size <= path.stat().st_size
            message = file.read(size) if fits else b""
            if not fits or len(message) < size or len(file.read(_CHECKSUM)) < _CHECKSUM:
                raise InputError(
                    f"{path} ends within a record: it is truncated, or no TFRecord file"
                )
            yield message


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of the fields of a message, a number or bytes.

    Args:
        message: The message.

    Raises:
        InputError: It is no such message.

    >>> list(fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 150), (2, b'hi')]
    """
    at = 0
    try:
        while at < len(message):
            key, at = _varint(message, at)
            if key % 8 == 0:
                value, at = _varint(message, at)
                yield key // 8, value
                continue
            size, at = _varint(message, at) if key % 8 == 2 else (_FIXED[key % 8], at)
            yield key // 8, message[at : at + size]
            at += size
    except (IndexError, KeyError):
        raise InputError("a record is no message of protocol buffers") from None
    if at > len(message):
        raise InputError("a record ends within a field")


def varints(packed: bytes) -> Iterator[int]:
    """Yield the numbers of a packed field."""
    at = 0
    while at < len(packed):
        number, at = _varint(packed, at)
        yield number


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    number = shift = 0
    while True:
        byte = message[at]
        number = number | (byte & 127) << shift
        shift = shift + 7
        at = at + 1
        if byte < 128:
            return number, at
