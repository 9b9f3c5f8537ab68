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
    """Yield each field of a message: its number, and its value, an int or bytes.

    Args:
        message: The message.

    Raises:
        InputError: It is no such message.

    >>> list(fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 150), (2, b'hi')]
    """
    position = 0
    try:
        while position < len(message):
            # The key is 8 x field number + wire type.
            key, position = _varint(message, position)
            if key % 8 == 0:
                value, position = _varint(message, position)
                yield key // 8, value
                continue
            # Wire type 2 is preceded by its size, others have a fixed one.
            if key % 8 == 2:
                size, position = _varint(message, position)
            else:
                size = _FIXED[key % 8]
            yield key // 8, message[position : position + size]
            position += size
    except (IndexError, KeyError):
        raise InputError("a record is no message of protocol buffers") from None
    if position > len(message):
        raise InputError("a record ends within a field")


def varints(packed: bytes) -> Iterator[int]:
    """Yield the numbers of a packed field."""
    position = 0
    while position < len(packed):
        number, position = _varint(packed, position)
        yield number


def _varint(message: bytes, position: int) -> tuple[int, int]:
    """Return the number of variable length at a position, and the position after it.

    Each byte adds 7 bits, the lowest first; a byte below 128 is the last one.
    """
    number = shift = 0
    while True:
        byte = message[position]
        number = number | (byte & 127) << shift
        shift = shift + 7
        position = position + 1
        if byte < 128:
            return number, position
