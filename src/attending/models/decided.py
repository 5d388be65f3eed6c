"""A new decision for a model folder, without touching its weights."""

import json
import re
from pathlib import Path

from attending.models.development import FILE, DevelopmentScores
from attending.outputs import write_text
from attending.parts.decoders import Decision

_SECTION = re.compile(r"(?ms)^## Decision\n\n.*?(?=^## |\Z)")


def write_decision(
    folder: str | Path, decision: Decision, scores: DevelopmentScores | None = None
) -> None:
    """Write ``decision.json`` in one step, and what the decision was settled on.

    The model card's section on the decision is renewed; what people wrote elsewhere in it stays.
    ``decision.json`` comes last: a crash leaves the old decision or the new one, whole.

    Args:
        folder: A model folder.
        decision: How scores become labels from now on.
        scores: Development scores under the new decision; without them, old ones are removed, as
            they would tell prices of another decision.

    Raises:
        OutputError: If the folder can't be written.
    """
    place = Path(folder)
    if scores is not None:
        scores.write(place)
    else:
        (place / FILE).unlink(missing_ok=True)
    card = place / "README.md"
    if card.is_file():
        said = "".join(f"- {line}\n" for line in decision.describe())
        text = card.read_text(encoding="utf-8")
        new = _SECTION.sub(lambda _: f"## Decision\n\n{said}\n", text, count=1)
        if new != text:
            write_text(card, new, force=True)
    body = json.dumps(decision.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(place / "decision.json", body + "\n", force=True)
