"""What was read from files moves no cursor: escapes and turned text are shown as such."""

import unicodedata

from hypothesis import given, strategies as st

from scenarios.commands.screen.terminal import printable


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_is_printable_and_the_rest_is_left(text):
    shown = printable(text)
    assert shown.isprintable()
    kept = {c for c in text if unicodedata.category(c)[0] not in "CZ" or c == " "}
    assert printable("".join(sorted(kept))) == "".join(sorted(kept))
    assert (shown == text) == text.isprintable()
