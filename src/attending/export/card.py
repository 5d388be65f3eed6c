"""The export's part of a model card."""

from attending.export.parity import Parity, Tolerance


def export_section(parity: Parity, tolerance: Tolerance, size: int) -> str:
    """Return a section in Markdown: what was exported, and how it compares with its model."""
    lines = ["", "## Export", "", f"One ONNX graph of {size / 1e6:.1f} MB, {parity.weights}."]
    lines += [
        "",
        f"Compared with the model that it was made from on {parity.compared}"
        + (f" ({parity.sample})" if parity.sample else "")
        + ":",
        "",
        "| | Found | Allowed |",
        "|---|---:|---:|",
        f"| Largest difference of a probability | {parity.score:.2g} | {tolerance.score:g} |",
        f"| Decisions that changed | {parity.changed} of {parity.read:,} | "
        f"{tolerance.changed:.1%} |",
    ]
    if parity.macro_f1 is not None:
        before, after = parity.macro_f1
        lines.append(f"| Macro-F1 | {before:.4f} to {after:.4f} | -{tolerance.macro_f1:g} |")
    if parity.rarest is not None:
        rarest = parity.rarest
        lines.append(
            f"| Recall of {rarest.label}, the rarest label ({rarest.documents} rows) | "
            f"{rarest.before:.4f} to {rarest.after:.4f} | -{tolerance.rarest_recall:g} |"
        )
    if parity.evidence is not None:
        lines.append(
            f"| Largest difference of a token's score | {parity.evidence:.2g} | "
            f"{tolerance.evidence:g} |"
        )
    return "\n".join(lines) + "\n"
