"""Put new messages in order for people: what could not be read first, then the most urgent.

Needs a model folder, whose labels are ordered from least to most urgent, and new.csv with an id
and a text. Writes worklist.csv, which holds no text.
"""

import csv
import sys

from attending import Classifier, Prediction, load_corpus

folder = sys.argv[1] if len(sys.argv) > 1 else "model"
classifier = Classifier.load(folder)
rows = load_corpus("new.csv", label="").rows
predictions = classifier.predictions(rows)

ids = list(classifier.classes_)
highest = ids[-1]


def place(prediction: Prediction) -> tuple[int, int, float]:
    """Sort key: no answer first, then by label from most urgent, then by probability."""
    if not prediction.labels:
        return (0, 0, 0.0)
    level = ids.index(prediction.labels[0])
    return (1, -level, -prediction.scores[highest])


with open("worklist.csv", "w", encoding="utf-8", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["id", "label", f"probability of {highest}", "why a person must look"])
    for p in sorted(predictions, key=place):
        unsure = "the model was not sure enough" if p.abstained else ""
        unread = f"only {p.read.tokens} of {p.read.of} tokens read" if p.read.truncated else ""
        probability = f"{p.scores[highest]:.3f}" if p.scores else ""
        writer.writerow([p.id, "".join(p.labels), probability, p.reason or unsure or unread])

silent = sum(not p.labels for p in predictions)
print(f"{len(predictions)} messages, {silent} without an answer: worklist.csv")
