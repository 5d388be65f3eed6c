"""A lexical view: which labels' words a text holds, and where. No torch here."""

from attending.parts.lexical.combiner import Combiner, fit_combiner
from attending.parts.lexical.scorer import LexicalScorer, LexicalScores
from attending.parts.lexical.sparse import SparseFeatures
from attending.parts.lexical.view import LexicalView

__all__ = [
    "Combiner",
    "LexicalScorer",
    "LexicalScores",
    "LexicalView",
    "SparseFeatures",
    "fit_combiner",
]
