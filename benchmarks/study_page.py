"""Turns finished studies into a page under docs/results.

    attending study benchmarks/studies/lesa-table3.toml --out table3 --cells cells
    attending study benchmarks/studies/lesa-table4.toml --out table4 --cells cells
    python benchmarks/study_page.py triage-study table3 table4 [--picture]

The page is the text of benchmarks/pages/NAME.md, then each study's own tables, one heading level
down; without a study it is the text alone. With --picture, the pictures that the text shows are
drawn from the studies' reports, the learning curves where there are some, else the dot plot (this
needs playwright and a Chromium): NAME.png is that of the first study, NAME-FOLDER.png of the
others.
"""

import argparse
import re
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs" / "results"
_HEADING = re.compile(r"^(#+ )", re.MULTILINE)


def tables_of(folder: Path) -> str:
    """Return a study's tables, one heading level down."""
    return _HEADING.sub(r"#\1", (folder / "table.md").read_text(encoding="utf-8")).strip()


def draw(folder: Path, target: Path) -> None:
    """Draw the learning curves of a study's report, or else its first dot plot."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=_chromium())
        page = browser.new_page(
            viewport={"width": 900, "height": 900}, device_scale_factor=2, color_scheme="light"
        )
        page.goto((folder / "report.html").resolve().as_uri())
        curves = page.locator("section[aria-labelledby^=curve] svg")
        found = curves if curves.count() else page.locator("svg")
        found.first.screenshot(path=target)
        browser.close()


def _chromium() -> str | None:
    from shutil import which

    return which("chromium") or which("chromium-browser") or which("google-chrome")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--picture", action="store_true")
    given = parser.parse_args()
    preface = (HERE / "pages" / f"{given.name}.md").read_text(encoding="utf-8").strip()
    text = "\n\n".join([preface, *map(tables_of, given.folders)])
    (DOCS / f"{given.name}.md").write_text(f"{text}\n", encoding="utf-8")
    for number, folder in enumerate(given.folders if given.picture else ()):
        file = f"{given.name}{f'-{folder.name}' if number else ''}.png"
        if f"({file})" in preface:
            draw(folder, DOCS / file)


if __name__ == "__main__":
    main()
