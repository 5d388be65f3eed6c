"""Parts of the training documents, for features that a document's own labels had no hand in."""

import hashlib
from collections.abc import Sequence

from attending.parts.lexical.words import read_words
from attending.records import Document


def assign_folds(documents: Sequence[Document], folds: int) -> list[int]:
    """Return the fold of each document.

    Documents whose texts have the same words, or that belong to one group, are in one fold. The
    folds are of nearly equal size in such sets, don't depend on the order of the documents, and
    need no seed: sets are dealt in the order of a digest.
    """
    root = list(range(len(documents)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    keys = [_digest(" ".join(read_words(d.text).folded)) for d in documents]
    first: dict[bytes | str, int] = {}
    for i, (document, key) in enumerate(zip(documents, keys, strict=True)):
        names: list[bytes | str] = [key]
        if document.group is not None:
            names.append(document.group)
        for name in names:
            root[find(i)] = find(first.setdefault(name, i))
    smallest: dict[int, bytes] = {}
    for i, key in enumerate(keys):
        smallest[find(i)] = min(smallest.get(find(i), key), key)
    dealt = {r: n % folds for n, r in enumerate(sorted(smallest, key=smallest.__getitem__))}
    return [dealt[find(i)] for i in range(len(documents))]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
