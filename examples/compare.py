"""Compare two systems on the same documents: their figures, and whether the difference is luck.

Needs messages.csv and labels.toml. Add seeds to see how much training itself moves the figures.
"""

from attending import Classifier, evaluate, load_corpus, load_labels, split
from attending.evaluation.significance import mean_and_spread, paired_randomisation

RECIPES = ("lesa-bert", "tfidf-logistic")
SEEDS = (0, 1)

messages = load_corpus("messages.csv")
labels = load_labels("labels.toml")
parts = split(messages.documents, by="label", test=0.3)
train, test = messages.subset(parts.train), messages.subset(parts.test)
truth = [d.label for d in test]

answers = {}
for recipe in RECIPES:
    runs, scores = [], []
    for seed in SEEDS:
        classifier = Classifier(recipe=recipe, labels=labels, seed=seed).fit(train)
        predictions = classifier.predictions(test)
        evaluation = evaluate(test.rows, predictions, labels, resamples=0)
        scores.append(evaluation.metrics["macro_f1"])
        runs.append(["".join(p.labels) for p in predictions])
    answers[recipe] = runs
    spread = mean_and_spread(scores)
    print(f"{recipe}: macro-F1 {spread.mean:.3f}, standard deviation {spread.sd:.3f}")

compared = paired_randomisation(truth, *(answers[recipe] for recipe in RECIPES), metric="macro_f1")
print(f"difference {compared.difference:+.3f}, p = {compared.p_value:.4f}")
print(f"95% interval {compared.interval.low:+.3f} to {compared.interval.high:+.3f}")
