"""From a table of labelled messages to a model, a report and a page of explained messages.

Needs messages.csv with a text, a label and a column that says who wrote it, and labels.toml.
"""

from attending import Classifier, check, evaluate, load_corpus, load_labels, split
from attending.evaluation.report import write_report
from attending.explain.evidence import attach_spans, explained_words
from attending.explain.page import write_page
from attending.explain.wording import caution

RECIPE = "lesa-bert"

messages = load_corpus("messages.csv", group="writer")
labels = load_labels("labels.toml")
print(check(messages, labels).render())

# Whole writers are held out: the model will meet new ones in use.
parts = split(messages.documents, by="group", test=0.3)
train = messages.subset(parts.train, "train")
test = messages.subset(parts.test, "test")

classifier = Classifier(recipe=RECIPE, labels=labels).fit(train)
classifier.save("triage-model")

predictions = classifier.predictions(test)
evaluation = evaluate(test.rows, predictions, labels)
print(evaluation.headline)
write_report(
    "triage-report",
    evaluation=evaluation,
    documents=test.rows,
    predictions=predictions,
    labels=labels,
    title=f"{RECIPE}, new writers",
    context={"Training rows": str(len(train))},
)

model = classifier.model_
shown, answers = test.rows[:20], predictions[:20]
words = explained_words(model, shown, answers)
write_page(
    "triage-words.html",
    shown,
    attach_spans(shown, answers, words),
    words,
    labels,
    title=f"{RECIPE}, new writers",
    method=model.methods[0],
    caution=caution(model.methods[0]),
)
