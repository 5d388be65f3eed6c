"""The inbox in a real browser: keyboard, phone, both schemes, without scripts, under its policy."""

import shutil
import socket
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket]

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
NOW = datetime.now(UTC)
ROWS = [
    ("p1", "thank you, all is well", 50), ("p2", "chest pain and trouble breathing", 2),
    ("p3", "I was dizzy when I stood up, should I take less?", 30),
    ("p4", "chest pain again, my lips look blue", 9), ("p5", "please cancel my appointment", 3),
    ("p6", "<script>document.title='owned'</script><img src=x onerror=alert(1)> chest pain", 1),
    ("p7", "   ", 4),
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def running(folder, store, data):
    import uvicorn

    from attending.serve.app import create_app
    from attending.serve.predictor import Predictor
    from attending.serve.settings import Settings

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = create_app(Predictor(folder), Settings(data=data), store)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/inbox"
    server.should_exit = True
    thread.join(20)


@pytest.fixture
def inbox(model_folder, store, tmp_path):
    with running(model_folder, store, tmp_path) as address:
        yield address


@pytest.fixture
def morning(tmp_path):
    path = tmp_path / "morning.csv"
    lines = ["id,text,sent"]
    for name, text, hours in ROWS:
        lines.append(f'{name},"{text}",{(NOW - timedelta(hours=hours)).isoformat()}')
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def page(browser):
    """Return a page on which every error of the console fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    opened = context.new_page()
    errors = []
    opened.on(
        "console", lambda m: errors.append(m.text) if m.type in ("error", "warning") else None
    )
    opened.on("pageerror", lambda e: errors.append(str(e)))
    opened.on("dialog", lambda d: errors.append("a script ran"))
    yield opened
    context.close()
    assert errors == []


def fill(page, inbox, morning):
    page.goto(f"{inbox}/upload")
    page.set_input_files("#file", morning)
    page.click("text=Upload and sort")
    page.click("text=Open the inbox")
    page.wait_for_selector("#rows .line")


def groups(page):
    return page.eval_on_selector_all(
        "#rows .group",
        "all => Object.fromEntries(all.map(g => [g.getAttribute('aria-label'),"
        " [...g.querySelectorAll('.who')].map(w => w.textContent)]))",
    )


def focused(page):
    return page.evaluate(
        "document.activeElement.closest('.line')?.querySelector('.who').textContent"
    )


def until(page, condition, arg=None):
    """Wait until a condition holds; the page's policy forbids Playwright's own way to wait."""
    end = time.monotonic() + 15
    while not page.evaluate(condition, arg):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def said(page, words):
    until(page, "w => document.getElementById('said').textContent.includes(w)", words)


def test_upload_read_correct_undo_by_keyboard(page, inbox, morning, store):
    fill(page, inbox, morning)
    sorted_ = groups(page)
    assert next(iter(sorted_)) == "Read these yourself"
    assert "p7" in sorted_["Read these yourself"]
    assert sorted_["urgent"] == [n for n in ("p4", "p2", "p6") if n in sorted_["urgent"]]

    page.keyboard.press("j")
    first = focused(page)
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert focused(page) == first
    while focused(page) != "p1":
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("article[data-open]")
    assert page.text_content("#message-title") == "p1"

    page.keyboard.press("1")
    said(page, "Label saved: urgent.")
    until(page, "document.querySelector('#rows .group.high').textContent.includes('p1')")
    assert groups(page)["urgent"][0] == "p1"  # now the oldest of the urgent
    assert store.corrections()[0].change.labels == ("urgent",)
    assert page.get_attribute('[data-key="1"]', "aria-pressed") == "true"

    page.keyboard.press("u")
    said(page, "Taken back.")
    until(page, "!document.querySelector('#rows .group.high').textContent.includes('p1')")
    assert store.corrections() == []


def test_after_a_message_moved_the_keys_go_on_where_it_was(page, inbox, morning):
    fill(page, inbox, morning)
    names = page.eval_on_selector_all("#rows .who", "all => all.map(w => w.textContent)")
    at = names.index(groups(page)["urgent"][0])
    page.click(f"#rows .line >> nth={at}")
    page.wait_for_selector("article[data-open]")
    page.keyboard.press("3")
    said(page, "Label saved: non-urgent.")
    until(page, "t => document.querySelector('.group.low').textContent.includes(t)", names[at])
    page.keyboard.press("j")
    until(page, "t => document.getElementById('message-title').textContent === t", names[at + 1])
    page.keyboard.press("u")
    said(page, "Taken back.")


def test_done_opens_the_next(page, inbox, morning):
    fill(page, inbox, morning)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("article[data-open]")
    before = page.text_content("#message-title")
    page.keyboard.press("e")
    until(page, "t => document.getElementById('message-title')?.textContent !== t", before)
    said(page, "Done.")
    assert all(before not in group for group in groups(page).values())
    page.keyboard.press("u")
    said(page, "open again")
    until(page, "t => document.getElementById('rows').textContent.includes(t)", before)


def test_evidence_and_why_for_each_label(page, inbox, morning):
    fill(page, inbox, morning)
    page.click("#rows .line:has-text('chest pain and trouble')")
    page.wait_for_selector("article[data-open]")
    assert page.locator(".view:visible mark").count() >= 1
    for label in ("medium", "non-urgent", "urgent"):
        page.click(f".views > label:has-text('{label}') >> nth=0")
        assert page.locator(".view:visible").count() == 1
        assert label in page.text_content(".view:visible .quotes")


def test_markup_in_a_message_does_nothing(page, inbox, morning):
    fill(page, inbox, morning)
    page.click("#rows .line:has-text('owned')")
    page.wait_for_selector("article[data-open]")
    assert "<script>" in page.text_content(".view:visible .text")
    assert "owned" not in page.title()
    assert page.locator("#reading img, #reading script, #rows img, #rows script").count() == 0


def test_search_help_and_keys_off(page, inbox, morning):
    fill(page, inbox, morning)
    page.keyboard.press("/")
    page.keyboard.type("dizzy")
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('#rows .line').length === 1")
    assert "dizzy" not in page.url
    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.locator("article[data-open]").count() == 0
    page.keyboard.press("?")
    page.check("#keys-on")
    page.keyboard.press("Escape")


def test_back_and_forth(page, inbox, morning):
    fill(page, inbox, morning)
    page.click("#rows .line >> nth=1")
    page.wait_for_selector("article[data-open]")
    address = page.url
    page.keyboard.press("Escape")
    page.wait_for_selector("article[data-open]", state="detached")
    page.go_back()
    page.wait_for_url(address)
    page.wait_for_selector("article[data-open]")


def test_a_phone(browser, inbox, morning):
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    page = context.new_page()
    fill(page, inbox, morning)
    for path in ("", "/upload", "/model"):
        page.goto(inbox + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
    page.goto(inbox)
    page.locator("#rows .line").nth(1).tap()
    page.wait_for_selector("article[data-open]")
    assert not page.is_visible("#list")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    small = page.eval_on_selector_all(
        "button:not([hidden]), .tab, summary, .back-link",
        "all => all.filter(e => e.offsetParent).filter(e => e.getBoundingClientRect().height < 24)"
        ".map(e => e.textContent)",
    )
    assert small == []
    assert page.locator(".choice").first.is_visible()
    page.locator(".choice").nth(1).tap()
    said(page, "Label saved")
    page.click(".back-link")
    page.wait_for_selector("#list", state="visible")
    context.close()


def test_reading_and_correcting_without_scripts(browser, inbox, morning, store):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{inbox}/upload")
    page.set_input_files("#file", morning)
    page.click("text=Upload and sort")
    page.click("text=Open the inbox")
    page.locator("#rows .line").last.click()
    assert page.locator(".view mark").count() >= 0
    assert page.locator("#message-title").count() == 1
    page.click('button[value="urgent"]')
    assert "Label saved: urgent." in page.text_content("#said")
    assert store.corrections()[0].change.labels == ("urgent",)
    page.goto(f"{inbox}/model?label=urgent&floor=90")
    assert page.locator("#price").count() == 1
    context.close()
