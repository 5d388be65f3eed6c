"""``attending export``: a model as one graph that runs without torch, checked against it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attending.cli import options
from attending.cli.columns import Columns
from attending.cli.console import Screen
from attending.cli.origin import Origin, as_trained, held_out_part
from attending.cli.rows import tell_reading
from attending.cli.tables import facts
from attending.errors import DataError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.export.parity import Parity

_BUNDLED = "portal"
_SEED = 2020


def export(
    model: options.Model,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Folder to write.", rich_help_panel=options.OUTPUT
        ),
    ],
    int8: Annotated[
        bool,
        typer.Option(
            "--int8",
            help="Round weights to int8: a quarter of the size, and two to three times as fast on "
            "a CPU. Layers that lose too much are rounded finer, or not at all.",
        ),
    ] = False,
    portable: Annotated[
        bool,
        typer.Option(
            "--portable",
            help="With --int8: use 7 of the 8 bits, for x86 processors without VNNI instructions "
            "(before 2019 at Intel, before Zen 4 at AMD), which refuse to load 8 bits.",
        ),
    ] = False,
    rows: Annotated[
        str | None,
        typer.Option(
            "--rows",
            metavar="FILE",
            help="Rows to compare the export with its model on, best ones like those it will "
            "read; the bundled corpus if left out. Of the file trained on, those held out.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        int,
        typer.Option(
            "--most", metavar="N", min=1, help="Compare on so many rows, drawn at random."
        ),
    ] = 1000,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="NAME=SHARE",
            help="How far answers may be apart: [bold]score[/] (a probability), [bold]changed[/] "
            "(share of decisions), [bold]macro-f1[/], [bold]rarest-recall[/] (losses), "
            "[bold]evidence[/] (a token's score). May be given several times.",
            show_default=False,
        ),
    ] = None,
    text: options.Text = None,
    label: options.Label = None,
    id: options.Id = None,
    where: options.Where = None,
    encoding: options.Encoding = "utf-8",
    label_separator: options.LabelSeparator = None,
    empty_labels: options.EmptyLabels = "unlabelled",
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write a neural model as one ONNX graph that runs without torch.

    The export answers real rows, and so does the model: if scores, decisions, macro-F1, the recall
    of the rarest label or the evidence differ by more than allowed, nothing is written. The folder
    is used as any model's: [bold]predict[/], [bold]evaluate[/], [bold]explain[/].
    """
    from attending.export.folder import export_model
    from attending.export.parity import Tolerance
    from attending.models.store import load_model, require_free

    screen = Screen(json)
    allowed = Tolerance.of(int8, _limits(tolerance or ()))
    require_free(Path(out).resolve(), force)
    loaded = load_model(model)
    columns = Columns(
        text, label, id, None, None, where, encoding, None, label_separator, empty_labels
    )
    corpus, sample = _sample(screen, rows, columns, Origin.read(Path(model)), most)
    parity = export_model(
        loaded,
        out,
        corpus.rows,
        int8=int8,
        portable=portable,
        tolerance=allowed,
        sample=sample,
        source=model,
        force=force,
        tell=screen.say,
    )
    if json:
        screen.data({"written": str(out)} | parity.to_dict())
    else:
        screen.show(facts(_facts(parity, out)))


def _limits(given: Sequence[str]) -> Mapping[str, float]:
    """Read ``name=share`` options.

    Raises:
        DataError: If one isn't of that form.
    """
    found = {}
    for item in given:
        name, _, value = item.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise DataError(
                "--tolerance can't be read", found=item, allowed="NAME=SHARE, as changed=0.01"
            ) from None
    return found


def _sample(
    screen: Screen, file: str | None, columns: Columns, origin: Origin | None, most: int
) -> tuple["Corpus", str]:
    """Return the rows to compare on, and in words which they are.

    Raises:
        DataError: If the file holds no row.
    """
    if file is None:
        columns = Columns()
        screen.tell(
            "note",
            "compared on messages of the bundled corpus, which may be unlike yours: --rows FILE "
            "names rows of your own",
        )
    corpus = columns.load(file or _BUNDLED)
    tell_reading(screen, corpus)
    name = "the bundled corpus" if file in (None, _BUNDLED) else Path(file or "").name
    held = _held_out(file or _BUNDLED, corpus, origin, columns.encoding)
    if held is not None:
        corpus, name = held, f"{name} held out of training"
    if not len(corpus):
        raise DataError("no row to compare on", where=file or _BUNDLED)
    if len(corpus) <= most:
        return corpus, f"rows of {name}"
    return _drawn(corpus, most), f"{most:,} of {len(corpus):,} rows of {name}, drawn at random"


def _held_out(file: str, corpus: "Corpus", origin: Origin | None, encoding: str) -> "Corpus | None":
    """Return what was held out of training, where the rows are those of training."""
    trained = as_trained(file, corpus, origin, encoding) if origin else None
    if origin is None or origin.holdout is None or trained is None:
        return None
    return held_out_part(corpus, trained, origin.holdout)


def _drawn(corpus: "Corpus", most: int) -> "Corpus":
    import numpy as np

    chosen = np.random.default_rng(_SEED).permutation(len(corpus))[:most]
    return corpus.subset(sorted(chosen.tolist()))


def _facts(parity: "Parity", out: Path) -> list[tuple[str, str]]:
    """Say what was written and how it compares."""
    from attending.export.signature import GRAPH

    size = (out / GRAPH).stat().st_size
    pairs = [
        ("written", f"{out}: one graph of {size / 1e6:.1f} MB, {parity.weights}"),
        ("compared", f"on {parity.compared} ({parity.sample})"),
        ("scores", f"a probability moved by {parity.score:.2g} at most"),
        ("decisions", f"{parity.changed:,} of {parity.read:,} changed"),
    ]
    figures: Any = parity.macro_f1
    if figures is not None:
        pairs.append(("macro-F1", f"{figures[0]:.4f} before, {figures[1]:.4f} after"))
    rarest = parity.rarest
    if rarest is not None:
        pairs.append(
            (
                "recall",
                f"of {rarest.label}, the rarest label ({rarest.documents} rows): "
                f"{rarest.before:.4f} before, {rarest.after:.4f} after",
            )
        )
    if parity.evidence is not None:
        pairs.append(("evidence", f"a token's score moved by {parity.evidence:.2g} at most"))
    return pairs
