"""Tables as text, HTML and LaTeX: nothing in a name can break out of its cell."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from probe.tables.sheets import Sheet, as_html

NASTY = r"a_b & 50 % <script>x</script> \frac{1}$2^3 #~ [4] |5| ±"
SHEET = Sheet(
    of="er",
    title="readout linear, in %",
    columns=("feature", "accuracy"),
    lines=[(NASTY, "93.1 [92.0, 94.2]"), ("[conv1]", "-")],
    after=("er: no layer lacks more than 1 point & that is < all",),
)


def test_html_escapes_names_sets_no_color_of_its_own_and_loads_nothing() -> None:
    page = as_html([SHEET], ["a note <b>"])
    texts = "".join(ElementTree.fromstring(page).itertext())
    for part in (NASTY, "93.1 [92.0, 94.2]", SHEET.heading, *SHEET.after, "Notes", "a note <b>"):
        assert part in texts
    kinds = {each.tag for each in ElementTree.fromstring(page).iter()}
    table = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert kinds == {"div", "p", *table, "details", "summary", "ul", "li"}
    assert set(re.findall(r"(?:color|background)\s*:\s*([^;\"]+)", page)) == {"inherit", "none"}
    assert not re.search(r"#[0-9a-fA-F]{3}\b|rgb|src=|href=|url\(|@import", html.unescape(page))
