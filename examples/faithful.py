"""Did the words that an explanation names matter to the model, and would people name them too?

Needs a model folder, and a file that the model was not trained on.
"""

import sys

from attending import Classifier, load_corpus
from attending.explain.evidence import attach_spans, explained_words, leading_words
from attending.explain.faithfulness import faithfulness
from attending.explain.plausibility import plausibility

folder, file = sys.argv[1:] if len(sys.argv) > 2 else ("model", "test.csv")
classifier = Classifier.load(folder)
model, rows = classifier.model_, load_corpus(file).documents[:50]
predictions = model.predict(rows)

for method in model.methods:
    words = explained_words(model, rows, predictions, method=method)
    measured = faithfulness(model, rows, predictions, words)
    explained, random = measured.explained, measured.random
    print(
        f"{method}: deleting its words costs {explained.comprehensiveness_area:.3f} "
        f"(random words {random.comprehensiveness_area:.3f})"
    )
    marked = attach_spans(rows, predictions, words)
    agreement = plausibility(
        rows,
        [leading_words(p, w) for p, w in zip(predictions, words, strict=True)],
        [p.evidence for p in marked],
    )
    if agreement.mean:
        print(f"  F1 with words that people marked: {agreement.mean.word_f1:.3f}")
