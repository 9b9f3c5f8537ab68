"""Errors, each with a message of one sentence that names the remedy."""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from textwrap import shorten
from traceback import extract_tb

_LENGTH = 400  # characters of another's message
_LONGEST = 4000  # characters of a message; a path may have as many
_MANY = 40
_FEW = 12  # of more names than many only so few are listed


class InputError(ValueError):
    """A mistake that the user can correct.

    The message names the value, the expectation and the remedy. The command line shows
    only the message and exits with code 2. What it quotes of a user may be a megabyte,
    and is cut, or hold control characters, and is made `printable`.
    """

    def __init__(self, message: str) -> None:
        # The remedy comes last.
        long = len(message) > _LONGEST
        short = f"{message[:_LENGTH]} [...] {message[-_LENGTH:]}" if long else message
        super().__init__(printable(short, "\n"))


class NotWritten(InputError):
    """A failure to write, after which no job can continue."""


class NotMeasured(InputError):
    """A cell of the accuracy matrix, or another input, that was not measured."""


class ModelRaised(InputError):
    """An error that the user's model raised on a batch, which is the cause of this one."""


class NotKept(InputError):
    """A frozen value that a tail needs but the cache lacks; the message says which."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}, as the model takes a different path from the one that was cut"
        )


class Stopped(SystemExit):
    """A request to stop this process, by Ctrl-C or SIGTERM."""


class Failed(Exception):
    """A failed check of a cut; the message, the end of a sentence, says which."""


def unknown(kind: str, name: str, names: Iterable[str], where: str = "") -> InputError:
    """Return the error for a name that does not exist, suggesting the nearest ones.

    Args:
        kind: The kind of thing that would have the name, such as `learner`.
        name: The name that does not exist.
        names: The names that exist; of many only some are listed.
        where: The place where they exist, such as `in these tables`; "" = everywhere.

    Returns:
        The error, to be raised.

    >>> print(unknown("learner", "finetun", ["er", "finetune"]))
    unknown learner 'finetun': did you mean 'finetune'? (known: er, finetune)
    >>> print(unknown("learner", "si", ["er", "finetune"], "in these tables"))
    no learner 'si' in these tables (known: er, finetune)
    """
    names = sorted(names)
    if len(names) > _MANY:
        names = sorted(get_close_matches(str(name), names, n=_FEW, cutoff=0))
    hint = ""
    if near := get_close_matches(str(name), names, n=2, cutoff=0.5):
        hint = f": did you mean {' or '.join(map(repr, near))}?"
    what = f"no {kind} {name!r} {where}" if where else f"unknown {kind} {name!r}"
    return InputError(f"{what}{hint} (known: {', '.join(names) or 'none'})")


def check_known(kind: str, name: str, names: Collection[str], where: str = "") -> None:
    """Raise the error of `unknown` for a name that is not among the names that exist."""
    if name not in names:
        raise unknown(kind, name, names, where)


def unreadable(path: object, error: OSError, remedy: str) -> InputError:
    """Return the error for a file that cannot be read.

    Args:
        path: The file.
        error: The reason.
        remedy: Advice to the user on how to fix it.

    Returns:
        The error.
    """
    if isinstance(error, IsADirectoryError):
        remedy = f"move that folder away, or {remedy}"
    return InputError(f"{path} cannot be read ({error.strerror or error}): {remedy}")


def described(error: BaseException) -> str:
    """Return an error's type and its message, if it has one, in one line.

    >>> described(KeyError("x")), described(ValueError())
    ("KeyError: 'x'", 'ValueError')
    """
    # A class of the user's may fail at this, too.
    try:
        message = str(error)
    except Exception:
        message = ""
    # Torch's own messages may run over pages.
    line = shorten(message, _LENGTH, placeholder=" ...")
    return f"{type(error).__name__}: {line}".removesuffix(": ")


def printable(text: str, allowed: str = "") -> str:
    r"""Escape every character of a text that controls the terminal or is invisible.

    A name or note from a file could otherwise move the cursor, recolor the screen or
    reverse the direction of the text, and a lone surrogate cannot be written at all.

    Args:
        text: The text.
        allowed: Characters that are not escaped.

    >>> print(printable("er\x1b[2J \u202eexe"))
    er\x1b[2J \u202eexe
    """
    escaped = ""
    for character in text:
        if character.isprintable() or character in allowed:
            escaped += character
        else:
            escaped += ascii(character)[1:-1]
    return escaped


def lacks_memory(error: BaseException) -> bool:
    """Return whether Python or torch raised an error for lack of memory."""
    return bool(
        re.search("MemoryError|out of memory|allocate memory", described(error))
    )


@contextmanager
def located(what: str) -> Iterator[None]:
    """Put a location before the message of an InputError; NotWritten and NotKept pass unchanged.

    >>> with located("after 2 tasks"):
    ...     raise InputError("it is NaN")
    Traceback (most recent call last):
    probe.errors.InputError: after 2 tasks: it is NaN
    """
    try:
        yield
    except (NotWritten, NotKept):
        raise
    except InputError as error:
        raise InputError(f"{what}: {error}") from error.__cause__


@contextmanager
def no_exit() -> Iterator[None]:
    """Turn `sys.exit` in the user's code into an InputError; a request to stop is not changed."""
    try:
        yield
    except SystemExit as error:
        # Ray's own request to stop has a message.
        if isinstance(error, Stopped) or vars(error):
            raise
        where = extract_tb(error.__traceback__)[-1]
        raise InputError(
            f"{where.filename}, line {where.lineno}, ends the process "
            f"({described(error)}): return"
        ) from error
