"""An evaluation of entities in words."""

from attending.evaluation.multilabel.wording import things
from attending.evaluation.spans.result import SpanResult
from attending.evaluation.wording import (
    GENERAL_CAUTIONS,
    count,
    decimal,
    documents,
    percent,
    shared_groups,
    were,
)

SCHEME_WORDS = {
    "strict": "the same type and the same place",
    "exact": "the same place, whatever the type",
    "partial": "the same place, an overlap counts half, whatever the type",
    "type": "an overlap of the same type",
}
KIND_WORDS = {
    "right": "right",
    "boundary": "another place",
    "type": "another type",
    "both": "another place and type",
    "missed": "missed",
    "spurious": "nothing is there",
}
TITLES = {
    "strict_micro_f1": "Strict micro-F1",
    "strict_macro_f1": "Strict macro-F1",
    "partial_micro_f1": "Partial micro-F1",
    "unweighted_accuracy": "Unweighted accuracy (words)",
}
_FEW = 5


def entities(n: int) -> str:
    """Write a number of entities: ``1 entity``, ``352 entities``."""
    return f"{count(n)} {'entity' if n == 1 else 'entities'}"


def in_short(result: SpanResult) -> list[str]:
    """Say in a few sentences what came out."""
    gold, found = result.layers.entities, result.found
    kinds = result.breakdown.kinds
    types = sum(bool(row["support"]) for row in result.per_label.values())
    line = (
        f"{documents(result.coverage['labelled'])} hold {entities(gold)} of"
        f" {things(types, 'type')}. The tagger found {count(found)}"
    )
    if found:
        right = kinds["right"]
        line += f": {count(right)} of them {were(right)} right to the character and in type"
        line += f" ({percent(right / found)})"
    lines = [f"{line}."]
    if gold:
        parts = [f"{count(kinds[k])} found at {KIND_WORDS[k]}" for k in ("boundary", "both")]
        parts.insert(1, f"{count(kinds['type'])} with {KIND_WORDS['type']}")
        lines.append(
            f"Of the gold entities {percent(kinds['right'] / gold)} are right, {', '.join(parts)},"
            f" and {count(kinds['missed'])} ({percent(kinds['missed'] / gold)}) missed."
            f" {count(kinds['spurious'])} {were(kinds['spurious'])} found where no entity is."
        )
    return [*lines, *_not_read(result), *_layers(result), *_rare(result)]


def _not_read(result: SpanResult) -> list[str]:
    if not result.not_read:
        return []
    lost = sum(document.entities for document in result.not_read)
    return [
        f"{documents(len(result.not_read))} got no answer: {entities(lost)} in"
        f" {'it' if len(result.not_read) == 1 else 'them'} count as missed."
    ]


def _layers(result: SpanResult) -> list[str]:
    layers = result.layers
    if layers.flat == layers.entities:
        return []
    return [
        f"{entities(layers.overlapping)} overlap another one and {count(layers.discontinuous)}"
        f" {were(layers.discontinuous)} in several pieces: a tagger with one tag a word that keeps"
        f" the longest can't find more than {percent(layers.flat / layers.entities)} of all."
    ]


def _rare(result: SpanResult) -> list[str]:
    names = {"tail": "of the tail", "unseen": "never seen in training"}
    return [
        f"{things(g.labels, 'type')} {names[g.name]} ({entities(g.true)} here): strict micro-F1"
        f" {decimal(g.figures['strict_micro_f1'])}, mean recall on words"
        f" {decimal(g.figures['unweighted_accuracy'])}."
        for g in result.groups
        if g.name in names and g.true
    ]


def cautions(result: SpanResult) -> list[str]:
    """Say what the figures do not show."""
    rows = result.per_label.values()
    rare = [row for row in rows if 0 < int(row["support"] or 0) < _FEW]
    lines = [
        "One character more or less makes an entity wrong in the strict count. Whether that"
        " matters depends on the use; the partial count says how much of it there is.",
    ]
    if rare:
        lines.append(
            f"{things(len(rare), 'type')} of {count(len(rows))} occur fewer than five times here:"
            " the figures of each say little, and averages over types rest on them as much as on"
            " frequent ones."
        )
    if any(result.repeated):
        gold, found = result.repeated
        lines.append(
            f"{count(gold)} gold and {count(found)} found entities stood there more than once; each"
            " counts once."
        )
    return [
        *lines,
        *GENERAL_CAUTIONS,
        *shared_groups(result),
        "An entity that a tagger finds is a proposal for a reader, not a finding; it is not a"
        " medical device.",
    ]


def words_in_words(result: SpanResult) -> str:
    """Say which words the figures on words are over."""
    number, own = result.words
    total = result.coverage["labelled"]
    rule = "between white space" if result.settings["words"] is None else "by the tool's word rule"
    if own == total:
        source = "as the source splits them"
    elif own:
        source = f"as the source splits them in {documents(own)}, else {rule}"
    else:
        source = rule
    return (
        f"Over {count(number)} words, {source}. A word has the type of the entity that covers it;"
        " where several do, of the longest. Words outside of entities ('O') count nowhere unless a"
        " figure's name says so."
    )
