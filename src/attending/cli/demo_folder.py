"""The folder of a demo: a later demo replaces what an earlier one made, and nothing else."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attending.cli.console import Screen
from attending.errors import OutputError

_MARKER = ".attending-demo.json"


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """Where each thing lies that a demo makes."""

    root: Path

    @property
    def results(self) -> Path:
        """The table, for machines."""
        return self.root / "results.json"

    @property
    def report(self) -> Path:
        """Folder of the evaluation's report."""
        return self.root / "report"

    @property
    def page(self) -> Path:
        """Page of explained messages."""
        return self.root / "words.html"

    @property
    def picture(self) -> Path:
        """Picture of one message a label."""
        return self.root / "words.png"

    @property
    def map(self) -> Path:
        """Map of the test messages."""
        return self.root / "map.png"

    @property
    def test(self) -> Path:
        """The test messages."""
        return self.root / "test.jsonl"

    @property
    def labels(self) -> Path:
        """The label file."""
        return self.root / "labels.toml"

    def model(self, recipe: str) -> Path:
        """Return the model folder of a recipe."""
        return self.root / "models" / recipe

    def claim(self, settings: dict[str, Any], screen: Screen) -> None:
        """Make the folder, or empty it of what an earlier demo made.

        A training that was stopped goes on if the settings are the same.

        Raises:
            OutputError: If the folder is in use and no demo made it.
        """
        marker = self.root / _MARKER
        if self.root.is_file():
            raise OutputError("is a file, not a folder", where=str(self.root))
        if self.root.is_dir() and any(self.root.iterdir()):
            if not marker.is_file():
                raise OutputError(
                    "the folder is in use, and no demo made it",
                    where=str(self.root),
                    step="Choose another --out.",
                )
            self._clear(marker.read_text(encoding="utf-8") == _written(settings), screen)
        self.root.mkdir(parents=True, exist_ok=True)
        marker.write_text(_written(settings), encoding="utf-8")

    def _clear(self, same: bool, screen: Screen) -> None:
        models = self.root / "models"
        unfinished = [
            p for p in models.glob("*") if p.is_dir() and [c.name for c in p.iterdir()] == ["run"]
        ]
        kept = unfinished if same else []
        say = "going on with its training" if kept else "replacing it"
        screen.say(f"{self.root} is there from an earlier demo: {say}.")
        for path in (self.results, self.page, self.picture, self.map, self.test, self.labels):
            path.unlink(missing_ok=True)
        for path in (self.report, *models.glob("*")):
            if path.is_dir() and path not in kept:
                shutil.rmtree(path)


def _written(settings: dict[str, Any]) -> str:
    return json.dumps({"made_by": "attending demo", **settings}, indent=2) + "\n"
