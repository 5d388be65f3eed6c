"""The evaluation for people and machines: one page, one summary, one JSON file.

The page is one file that needs no network and no script. No document's text is in any of the
three; documents are named by id.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attending.errors import OutputError
from attending.evaluation import wording
from attending.evaluation.metrics import Evaluation
from attending.evaluation.mistakes import unanswered, worst_mistakes
from attending.evaluation.multilabel.result import MultiLabelEvaluation
from attending.evaluation.multilabel.view import multilabel_view
from attending.evaluation.operating_view import operating_view
from attending.evaluation.outcome import match
from attending.evaluation.view import single_label_view
from attending.evaluation.wording import count, decimal, percent
from attending.outputs import new_file
from attending.records import LabelSet, Prediction, Row

FILES = {"json": "metrics.json", "summary": "summary.md", "page": "report.html"}


def write_report(
    folder: str | Path,
    *,
    evaluation: Evaluation | MultiLabelEvaluation,
    documents: Sequence[Row],
    predictions: Sequence[Prediction],
    labels: LabelSet,
    title: str,
    context: Mapping[str, str],
    force: bool = False,
) -> dict[str, Path]:
    """Write ``metrics.json``, ``summary.md`` and ``report.html`` into a folder.

    Args:
        folder: Made where it doesn't exist; other files in it are left alone.
        evaluation: What ``evaluate`` or ``evaluate_multilabel`` returned for these documents
            and predictions.
        documents: The rows evaluated, for the ids of mistakes; no text of them is written.
        predictions: Their predictions, in the same order.
        labels: The label set evaluated on.
        title: The page's heading.
        context: Facts about the model and the data, shown as given (recipe, seed, versions).
        force: Whether files of these names may be replaced.

    Returns:
        The paths by kind: ``json``, ``summary``, ``page``.

    Raises:
        OutputError: If a file exists and ``force`` is false, or the folder can't be written.
    """
    place = Path(folder)
    paths = {kind: place / name for kind, name in FILES.items()}
    _check_free(place, list(paths.values()), force)
    machine = evaluation.to_dict()
    if isinstance(evaluation, MultiLabelEvaluation):
        name, view = "multilabel", multilabel_view(evaluation, documents, predictions)
    else:
        outcome = match(documents, predictions, labels)
        mistakes, silent = worst_mistakes(outcome, labels), unanswered(outcome, labels)
        name, view = "report", single_label_view(evaluation, mistakes, silent)
        operating = operating_view(outcome, labels)
        view |= {"operating": operating}
        machine |= {"operating": operating.to_dict()}
    return write_rendered(
        folder,
        template=name,
        view=view,
        machine=machine,
        title=title,
        context=context,
        force=force,
    )


def write_rendered(
    folder: str | Path,
    *,
    template: str,
    view: Mapping[str, Any],
    machine: Mapping[str, Any],
    title: str,
    context: Mapping[str, str],
    force: bool = False,
) -> dict[str, Path]:
    """Write the three files of a report from what its templates show and what machines read.

    Args:
        folder: Made where it doesn't exist; other files in it are left alone.
        template: Name of the templates of the page and of the summary.
        view: What they show.
        machine: JSON-safe values.
        title: The page's heading.
        context: Facts about the model and the data, shown as given.
        force: Whether files of these names may be replaced.

    Returns:
        The paths by kind: ``json``, ``summary``, ``page``.

    Raises:
        OutputError: If a file exists and ``force`` is false, or the folder can't be written.
    """
    place = Path(folder)
    paths = {kind: place / name for kind, name in FILES.items()}
    _check_free(place, list(paths.values()), force)
    facts = {"title": title, "context": dict(context)}
    body = json.dumps(facts | dict(machine), indent=2, allow_nan=False)
    _write(paths["json"], body + "\n")
    _write(paths["summary"], render(f"{template}.md.j2", {**view, **facts}))
    _write(paths["page"], render(f"{template}.html.j2", {**view, **facts}))
    return paths


def _check_free(folder: Path, paths: Sequence[Path], force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise OutputError("the output folder is a file", where=str(folder))
    taken = [path.name for path in paths if path.exists()]
    if taken and not force:
        raise OutputError(
            "the report exists already",
            where=str(folder),
            found=", ".join(taken),
            step="Choose another folder, or pass --force to replace it.",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            "the output folder can't be made", where=str(folder), found=error.strerror
        ) from None


def _write(path: Path, text: str) -> None:
    # Lone surrogates, which a JSON file may hold in an id, have no UTF-8 form.
    with new_file(path, force=True) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def render(template: str, view: Mapping[str, Any], package: str = "attending.evaluation") -> str:
    """Fill a template of a package; it may build on those of the evaluation.

    The filters ``percent``, ``count``, ``decimal``, ``cell`` (Markdown) and ``name`` write figures
    the way that every report does.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    places = dict.fromkeys((package, "attending.evaluation"))
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(place) for place in places]),
        autoescape=template.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "percent": percent,
        "count": count,
        "decimal": decimal,
        "cell": _cell,
        "name": wording.title_of,
    }
    return environment.get_template(template).render(view)


def _cell(text: str) -> str:
    """Make a text safe inside a Markdown table."""
    kept = " ".join(str(text).split()).replace("\\", "\\\\").replace("|", "\\|")
    return kept.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("`", "\\`")
