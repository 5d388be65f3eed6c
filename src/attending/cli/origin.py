"""What a model was trained on: enough to evaluate it honestly on the same file later.

``data.json`` in the model folder holds a fingerprint of the file's documents and the positions of
those that were held out. No id and no text is in it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attending.cli.also import MoreRows
from attending.cli.columns import Columns
from attending.errors import DataError, ModelError

if TYPE_CHECKING:
    from attending.data.corpora import Corpus
    from attending.data.splits import Split

FILE = "data.json"
FORMAT = 1
_SHOWN = 5
By = Literal["label", "group", "date", "random"]


@dataclass(frozen=True, slots=True)
class Holdout:
    """Documents that training never saw: how they were chosen, and their positions in the file."""

    by: By
    share: float
    seed: int
    groups: tuple[str, ...] | None
    positions: tuple[int, ...]
    notes: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """How the documents were chosen."""
        if self.groups is not None:
            more = f" and {len(self.groups) - _SHOWN} more" if len(self.groups) > _SHOWN else ""
            return f"the groups {', '.join(self.groups[:_SHOWN])}{more}"
        if self.by == "date":
            return f"the newest {self.share:.0%}"
        return f"{self.share:.0%} by {self.by}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that a model was trained on.

    ``file`` is its name, ``fingerprint`` that of its documents, in order, as they were read with
    ``columns`` and ``where``; ``development`` is the fingerprint of a development file,
    ``also`` more files that were trained on.
    """

    file: str
    fingerprint: str
    documents: int
    columns: Mapping[str, str]
    where: Mapping[str, str] = field(default_factory=dict)
    holdout: Holdout | None = None
    development: str | None = None
    also: tuple[MoreRows, ...] = ()

    def write(self, folder: Path) -> None:
        """Write ``data.json`` into a model folder."""
        body = {"format": FORMAT, **asdict(self)}
        text = json.dumps(body, ensure_ascii=False) + "\n"
        (folder / FILE).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Origin | None":
        """Read a model folder's ``data.json``; ``None`` where there is none.

        Raises:
            ModelError: If it can't be read.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if body.pop("format") != FORMAT:
                raise ModelError("is of another format", where=str(path))
            held = body.pop("holdout")
            also = tuple(MoreRows(**more) for more in body.pop("also", ()))
            return cls(**body, holdout=None if held is None else _holdout(held), also=also)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"can't be read ({type(error).__name__})", where=str(path)) from None

    def is_of(self, corpus: "Corpus") -> bool:
        """Say whether a corpus holds the very documents that the model was trained on."""
        return corpus.fingerprint == self.fingerprint


def of_both(first: Origin | None, second: Origin | None, same_rows: bool) -> Origin | None:
    """Return what two models that answer as one were trained on.

    Held out is only what neither of them saw. Where one doesn't say what it was trained on, that
    is known if both were trained on the same rows, else nothing counts as held out.

    Args:
        first: Of one model.
        second: Of the other; its file stays the one that is known with its columns.
        same_rows: Whether their training rows are the same.
    """
    if first is None or second is None:
        known = second or first
        return known if known is None or same_rows else replace(known, holdout=None)
    if first.fingerprint != second.fingerprint:
        own = MoreRows(first.file, first.fingerprint, first.documents)
        return replace(second, also=(*second.also, own, *first.also))
    held = second.holdout
    if held is not None:
        others = set(first.holdout.positions) if first.holdout else set()
        positions = tuple(i for i in held.positions if i in others)
        held = replace(held, positions=positions) if positions else None
    more = tuple(x for x in first.also if x not in second.also)
    development = second.development or first.development
    return replace(second, holdout=held, also=second.also + more, development=development)


def _holdout(body: Mapping[str, Any]) -> Holdout:
    groups = body["groups"]
    lists = {"positions": tuple(body["positions"]), "notes": tuple(body["notes"])}
    return Holdout(**{**body, **lists, "groups": None if groups is None else tuple(groups)})


def hold_out(
    corpus: "Corpus", by: By, share: float, seed: int, groups: Sequence[str] | None
) -> tuple["Corpus", Holdout]:
    """Split a corpus; return its training part and what is held out.

    Texts that occur several times are put on one side where the kind of split allows that.

    Raises:
        DataError: If the corpus can't be split so.
    """
    from attending.data.splits import split

    documents = corpus.documents
    made = split(documents, by=by, test=share, seed=seed, groups=groups)
    if by in ("label", "random") and _shared_texts(corpus, made):
        made = split(documents, by=by, test=share, seed=seed, keep_together="text")
    shared = _shared_texts(corpus, made)
    notes = [note for note in made.notes if "keep_together" not in note]
    if shared:
        notes.append(
            f"{shared:,} of {len(made.test):,} held-out documents have a text that is in training "
            "too: figures on them are too good"
        )
    train = replace(corpus, rows=(*(documents[i] for i in made.train), *corpus.problems))
    held = Holdout(
        by,
        share,
        seed,
        None if groups is None else tuple(groups),
        tuple(sorted(made.test)),
        tuple(notes),
    )
    return train, held


def _shared_texts(corpus: "Corpus", made: "Split") -> int:
    from attending.data.folding import text_key

    known = {text_key(corpus.documents[i].text) for i in made.train}
    return sum(text_key(corpus.documents[i].text) in known for i in made.test)


def as_trained(file: str, corpus: "Corpus", origin: Origin, encoding: str) -> "Corpus | None":
    """Return a file's documents as training read them; ``None`` if no row of it was trained on.

    Other columns or conditions than in training don't hide that it is the same file: it is then
    read once more in the way of training. Conditions that leave none of its rows do
    (``split=dev`` of a file whose ``split=train`` was trained on).
    """
    from attending.cli.spans import SpanFile, load_annotated
    from attending.data.spans.corpus import SpanCorpus

    if origin.is_of(corpus):
        return corpus
    where = [f"{column}={value}" for column, value in origin.where.items()]
    columns = dict(origin.columns)
    again: Corpus
    try:
        if "offsets" in columns:  # a file of spans
            again = SpanFile.of(columns).load(file, strict=False)
        elif isinstance(corpus, SpanCorpus):
            how = Columns(**columns, where=where, encoding=encoding)
            again = load_annotated(file, SpanFile(), how)
        else:
            again = Columns(**columns, where=where, encoding=encoding).load(file)
    except DataError:
        return None
    if not origin.is_of(again):
        return None
    return again if rows_among(corpus, again) else None


def rows_among(corpus: "Corpus", other: "Corpus") -> int:
    """Count the documents of a corpus that come from rows of another one, read from one file."""
    known = {document.source for document in other}
    return sum(document.source in known for document in corpus)


def held_out_part(corpus: "Corpus", trained: "Corpus", holdout: Holdout) -> "Corpus":
    """Return the documents of a corpus that training never saw.

    Args:
        corpus: The file as it is to be evaluated.
        trained: The same file as training read it.
        holdout: What was held out.

    Raises:
        DataError: If none is left.
    """
    if corpus is trained:
        return corpus.subset(holdout.positions)
    held = {trained.documents[i].source for i in holdout.positions}
    part = corpus.with_documents(d for d in corpus if d.source in held)
    if not len(part):
        raise DataError(
            "none of these documents was held out of training",
            where=corpus.name,
            found=f"{len(corpus):,} documents, all trained on or left out",
            step="Choose other rows, or pass --all-rows to evaluate on those all the same.",
        )
    return part
