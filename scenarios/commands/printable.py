"""Text that a terminal shows, and does not obey."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return a text with every character that is not printed as its escape.

    What others have written, a name or a note in a file, could otherwise move the cursor, recolor
    the screen or turn the direction of reading.

    >>> print(printable("er\x1b[2J \u202eexe"))
    er\x1b[2J \u202eexe
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
