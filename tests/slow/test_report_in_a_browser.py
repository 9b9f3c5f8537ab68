"""The report in Chromium without a network, where that and `.[browser]` are installed."""

import shutil

import pytest

from figures.report.page import report
from tests.figures.report.hand_made import causes, stated, tables, with_layers

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium"),
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        one = started.chromium.launch(executable_path=CHROMIUM, args=[*QUIET])
        yield one
        one.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    layers = [stated("conv2", "yes", 0.3), stated("output", "yes", 0.6)]
    missing = {"conv1": -0.02, "conv2": 0.3, "output": 0.6}
    found = tables(layers, missing, measurements=with_layers(), causes=causes())
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report({"first": found, "second": found}, {}))
    return path


def opened(browser, path, said, **context):
    page = browser.new_context(offline=True, **context).new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda asked: said.append(asked.url))
    page.goto(path.as_uri())
    return page


def unfold(page):
    page.evaluate(
        "for (const one of document.querySelectorAll('details')) one.open = true"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_asks_for_nothing_and_everybody_can_read_it(
    browser, page_file, width, scheme
):
    said = []
    viewport = {"width": width, "height": 900}
    page = opened(browser, page_file, said, viewport=viewport, color_scheme=scheme)
    assert said == [page_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe.Axe().run(page).response["violations"] == []


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_picture_of_the_answer_is_on_the_first_screen(
    browser, page_file, width, height
):
    size = {"width": width, "height": height}
    page = opened(browser, page_file, [], viewport=size)
    for part in (page.locator("h1"), page.locator("svg.answer-rows")):
        box = part.first.bounding_box()
        assert box["y"] + box["height"] <= height


def test_buttons_choose_and_cells_tell_by_mouse_and_by_keyboard(browser, page_file):
    page = opened(browser, page_file, [])
    unfold(page)
    shown = page.locator("figure:visible")
    every = shown.count()
    page.get_by_role("button", name="second").click()
    assert shown.count() == every / 2
    page.get_by_role("button", name="all").first.press("Enter")
    assert shown.count() == every
    tip = page.locator("#tip")
    page.locator(".answer-rows .cell").nth(1).hover()
    assert tip.inner_text().startswith("conv2: accounts for 50.0 [49.0, 51.0] points")
    cells = page.locator("#missing .cell[aria-label]")
    cells.nth(1).hover()
    assert (
        tip.inner_text() == "conv1, task position 2: missing -2.0 [-3.0, -1.0]; 5 seeds"
    )
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert tip.inner_text().startswith("conv1, task position 3: ")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith("conv2, task position 3: ")
    page.keyboard.press("Escape")
    assert tip.is_hidden()
