"""What an unfinished run is made of, so that it goes on only with the same."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attending.errors import TrainingError
from attending.records import LabelSet

RUN_STATE = "run.json"
SHOWN = 5
"""Ids that a message shows of a list."""


def as_begun(folder: Path | None, labels: LabelSet) -> tuple[LabelSet, tuple[str, ...]]:
    """Put labels into the order of the unfinished run in a folder, if it has the same ones.

    Label files and corpora give labels in whatever order they come; the weights know them by
    position. Returns the labels and a note if their order was changed.
    """
    before = None if folder is None else _read(folder / RUN_STATE)
    saved = [] if before is None else list(before["labels"])
    if saved == list(labels.ids) or sorted(saved) != sorted(labels.ids):
        return labels, ()
    ordered = replace(labels, labels=tuple(labels[i] for i in saved))
    return ordered, (f"the labels keep the order of the unfinished run: {', '.join(saved)}",)


def is_claimed(folder: Path) -> bool:
    """Say whether a folder is that of a run, which can go on there."""
    return (folder / RUN_STATE).is_file()


def claim(folder: Path, state: Mapping[str, Any]) -> bool:
    """Record what a run is made of; say whether to resume one; refuse to mix two.

    Raises:
        TrainingError: If the folder holds a run that is made of something else.
    """
    before = _read(folder / RUN_STATE)
    if before is None:
        body = json.dumps(state, indent=2) + "\n"
        part = folder / f".{RUN_STATE}"
        part.write_text(body, encoding="utf-8")
        part.replace(folder / RUN_STATE)
        return False
    if before["labels"] != state["labels"]:
        added = sorted(set(state["labels"]) - set(before["labels"]))
        removed = sorted(set(before["labels"]) - set(state["labels"]))
        raise TrainingError(
            "the unfinished run here has other labels",
            where=str(folder),
            found=f"added {_some(added)}, removed {_some(removed)}",
            step="Pass --force to start anew with a new head and optimizer.",
        )
    changed = [k for k in state if before.get(k) != json.loads(json.dumps(state[k]))]
    if changed:
        raise TrainingError(
            f"the unfinished run here differs in {', '.join(changed)}",
            where=str(folder),
            step="Pass --force to start anew, or choose another --out.",
        )
    return True


def _some(ids: Sequence[str]) -> str:
    """Show a list of ids; of a long one, such as a code system's, the first few."""
    more = len(ids) - SHOWN
    return str(list(ids)) if more <= 0 else f"{list(ids[:SHOWN])} and {more:,} more"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        return {"labels": list(state["labels"]), **state}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TrainingError(
            f"the state of the unfinished run can't be read ({type(error).__name__})",
            where=str(path),
            step="Pass --force to start anew, or choose another --out.",
        ) from None
