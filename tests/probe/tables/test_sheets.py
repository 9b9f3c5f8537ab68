"""Tables as text, HTML and LaTeX: nothing in a name can break out of its cell."""

import html
import re
from dataclasses import replace
from xml.etree import ElementTree

from figures.tables import plain
from probe.tables.sheets import Sheet, as_html, as_latex, as_text

NASTY = r"a_b & 50 % <script>x</script> \frac{1}$2^3 #~ [4] |5| ±"
SHEET = Sheet(
    of="er",
    title="readout linear, in %",
    columns=("feature", "accuracy"),
    lines=[(NASTY, "93.1 [92.0, 94.2]"), ("[conv1]", "-")],
    after=("er: no layer lacks more than 1 point & that is < all",),
)


def test_html_escapes_names_sets_no_color_of_its_own_and_loads_nothing():
    page = as_html([SHEET], ["a note <b>"])
    texts = "".join(ElementTree.fromstring(page).itertext())
    for part in (
        NASTY,
        "93.1 [92.0, 94.2]",
        SHEET.heading,
        *SHEET.after,
        "Notes",
        "a note <b>",
    ):
        assert part in texts
    kinds = {each.tag for each in ElementTree.fromstring(page).iter()}
    table = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert kinds == {"div", "p", *table, "details", "summary", "ul", "li"}
    assert set(re.findall(r"(?:color|background)\s*:\s*([^;\"]+)", page)) == {
        "inherit",
        "none",
    }
    assert not re.search(
        r"#[0-9a-fA-F]{3}\b|rgb|src=|href=|url\(|@import", html.unescape(page)
    )


def test_text_has_columns_of_one_width_and_notes_above():
    note, empty, *lines = as_text([SHEET, SHEET], ["that is all"]).splitlines()
    assert (note, empty) == ("note: that is all", "")
    assert lines[0] == "er, readout linear, in %"
    first_layer = {
        line.index(cell) for line, cell in zip(lines[1:3], ("acc", "93.1"), strict=True)
    }
    assert first_layer == {len(NASTY) + 2}
    assert lines[4:6] == [*SHEET.after, ""]


def test_latex_escapes_every_sign_and_keeps_the_columns():
    lines = as_latex(SHEET).splitlines()
    body = [line for line in lines if line.endswith(r" \\")]
    assert len(body) == 1 + len(SHEET.lines)
    for line in body:
        assert len(re.findall(r"(?<!\\)&", line)) == 1
    assert body[2] == r"{[}conv1] & -- \\"
    # Of comments alone there may be bare signs: a paper does not see them.
    bare = [line for line in lines if not line.startswith("%")]
    assert not any(re.search(r"(?<!\\)[#%_]", line) for line in bare)


def test_no_outlet_shows_a_character_that_controls_or_hides():
    name = "er\x1b[2J\0\u202e\ud800"
    sheet = replace(SHEET, of=name, lines=[(name, "1")])
    texts = [
        as_text([sheet], [name]),
        as_html([sheet], [name]),
        plain(name),
    ]
    for text in texts:
        assert r"er\x1b[2J\x00\u202e\ud800" in text
        assert all(sign.isprintable() or sign == "\n" for sign in text)
