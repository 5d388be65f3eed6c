"""TF-IDF of words by scikit-learn, kept as a list of words and an array."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from attending.specs import TfidfFeatures

VOCABULARY = "vocabulary.json"


def build_tfidf(spec: TfidfFeatures, **_: object) -> TfidfVectorizer:
    """Build an unfitted TF-IDF vectoriser."""
    return TfidfVectorizer(
        lowercase=spec.lowercase,
        stop_words=None if spec.stop_words == "none" else spec.stop_words,
        max_features=spec.max_features,
        ngram_range=(1, spec.ngrams),
        min_df=spec.min_documents,
        sublinear_tf=spec.sublinear,
        dtype=np.float64,
    )


def write_words(folder: Path, vectoriser: TfidfVectorizer) -> NDArray[np.float64]:
    """Write the words of a fitted vectoriser (JSON); returns their weights, to be kept beside."""
    words = sorted(vectoriser.vocabulary_, key=vectoriser.vocabulary_.__getitem__)
    (folder / VOCABULARY).write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
    return np.ascontiguousarray(vectoriser.idf_)


def read_words(folder: Path, vectoriser: TfidfVectorizer, idf: NDArray[np.float64]) -> None:
    """Give an unfitted vectoriser the words and weights that ``write_words`` kept.

    Raises:
        OSError: If the words are missing.
        ValueError: If they are damaged, or don't fit the weights.
    """
    words = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
    vectoriser.vocabulary = {word: i for i, word in enumerate(words)}
    vectoriser.idf_ = idf
