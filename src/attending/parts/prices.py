"""The price of a recall and of handing over, as a decision records it, in words."""

from collections.abc import Mapping
from typing import Any

FLOOR_COUNTS = ("rows", "positives", "caught", "alerts")
FLOOR_SHARES = ("floor", "low", "high")
BAND_COUNTS = ("all_rows", "rows", "kept", "right", "right_in_all")


def price_in_words(label: str, record: Mapping[str, Any]) -> str:
    """Say what recall of a label was asked for, and what it was and cost; see ``Decision``."""
    rows, found = record["rows"], record["caught"] / record["positives"]
    whose = f"{label} or more" if record.get("or_more") else label
    sure = ", surely" if record.get("surely") else ""
    return (
        f"{whose}: a recall of {record['floor']:.1%} was asked for{sure}. On {rows:,} development "
        f"rows {record['caught']:,} of {record['positives']:,} are found, {found:.1%} (95% "
        f"interval {record['low']:.1%} to {record['high']:.1%}); per 1,000 rows "
        f"{1000 * record['alerts'] / rows:.0f} alerts, "
        f"{1000 * (record['alerts'] - record['caught']) / rows:.0f} of them false, and "
        f"{1000 * (record['positives'] - record['caught']) / rows:.1f} missed"
    )


def band_in_words(record: Mapping[str, Any]) -> list[str]:
    """Say what the band was chosen for, and what it did on development rows."""
    if not record:
        return []
    rows, kept, of = record["rows"], record["kept"], record["all_rows"]
    asked = f"a share of {record['wanted']:.1%}"
    if record["what"] == "accuracy":
        asked = f"an accuracy of {record['wanted']:.1%} of the rest"
    others = "the rest" if rows == of else "the rest that no recall decided"
    return [
        f"The band was chosen for {asked}: {rows - kept:,} of {of:,} development rows "
        f"({(rows - kept) / of:.1%}) are handed over; of {others} "
        f"{record['right'] / max(kept, 1):.1%} are right, {record['right_in_all'] / rows:.1%} with "
        "nothing handed over"
    ]
