"""The pages of a run and of a pair in Chromium without a network, where that is installed."""

import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from figures.report.page import report
from probe.tables.table_file import all_tables
from tests.figures import invented
from tests.figures.report.hand_made import (
    LAYERS,
    causes,
    stated,
    tables,
    with_layers,
)
from tests.figures.test_pair_page import compared

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as started:
        yield started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    layers = [stated("conv2", "yes", 0.3), stated("output", "yes", 0.6)]
    missing = {"conv1": -0.02, "conv2": 0.3, "output": 0.6}
    found = tables(layers, missing, measurements=with_layers(), causes=causes())
    folder = tmp_path_factory.mktemp("pages")
    (folder / "run.html").write_text(report({"first": found, "second": found}, {}))
    compared().report(folder / "pair.html")
    two_methods = all_tables(**vars(invented.study(["er", "ft"], LAYERS)))
    (folder / "methods.html").write_text(report({"run": two_methods}, {}))
    return folder


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


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")]
)
@pytest.mark.parametrize("name", ["run.html", "pair.html"])
def test_it_asks_for_nothing_and_everybody_can_read_it(
    browser, folder, name, width, scheme
):
    said = []
    page_file = folder / name
    viewport = {"width": width, "height": 900}
    page = opened(browser, page_file, said, viewport=viewport, color_scheme=scheme)
    assert said == [page_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert Axe().run(page).response["violations"] == []


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_picture_of_the_answer_is_on_the_first_screen(
    browser, folder, width, height
):
    size = {"width": width, "height": height}
    page = opened(browser, folder / "run.html", [], viewport=size)
    for part in ("h1", "svg.answer-rows"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] + box["height"] <= height


@pytest.mark.parametrize(("kind", "name"), [("learner", "er"), ("readout", "linear")])
def test_a_choice_hides_what_belongs_to_another_and_nothing_else(
    browser, folder, kind, name
):
    page = opened(browser, folder / "methods.html", [])
    page.locator(f"button[name={kind}][value={name}]").click()
    every = set()
    for figure in page.locator("[data-learner]").all():
        of = figure.get_attribute(f"data-{kind}")
        assert figure.evaluate("one => one.hidden") == (of not in ("", name))
        every.add(of)
    assert every > {"", name}


def test_buttons_choose_and_cells_tell_by_mouse_and_by_keyboard(browser, folder):
    page = opened(browser, folder / "run.html", [])
    unfold(page)
    shown = page.locator("figure:visible")
    every = shown.count()
    page.get_by_role("button", name="second").click()
    assert shown.count() == every / 2
    page.get_by_role("button", name="all").first.press("Enter")
    assert shown.count() == every
    tip = page.locator("#tip")
    page.locator(".answer-rows .cell").nth(1).hover()
    assert tip.inner_text().startswith("conv2: accounts for 50.0 [49.0, 52.0] points")
    cells = page.locator("#missing .cell[aria-label]")
    cells.nth(1).hover()
    assert (
        tip.inner_text() == "conv1, task position 2: missing -2.0 [-3.0, 0.0]; 5 seeds"
    )
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert tip.inner_text().startswith("conv1, task position 3: ")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith("conv2, task position 3: ")
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    for _ in range(2):
        cells.nth(1).evaluate("one => one.removeAttribute('aria-label')")
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    assert tip.inner_text().startswith("conv1, all tasks: ")
