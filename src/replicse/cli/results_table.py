"""One table of several results as text, Markdown, LaTeX or CSV."""

import csv
import io
from collections.abc import Iterator, Sequence

from replicse.judge.values.result_files import ExternalResults, main_scores
from replicse.printable import columns
from replicse.registry.suites import AGGREGATIONS
from replicse.show.formats.prose import latex_text

LOWER_IS_BETTER = ("alignment", "uniformity")
FORMATS = ("text", "markdown", "latex", "csv")
MARKS = {"text": "{}*", "markdown": "**{}**", "latex": r"\textbf{{{}}}", "csv": "{}"}


def results_table(results: Sequence[ExternalResults], form: str) -> str:
    """Format the scores of several results, with a row for each result.

    The best score of a column is bold; text has an asterisk, CSV no mark. A score that a result does not contain is
    empty. An average is empty if a part is missing.

    Args:
        results: the results.
        form: one of `FORMATS`.
    """
    names = list(dict.fromkeys(name for each in results for name in main_scores(each)))
    rows = [["encoder", *_headings(names)]]
    best = [_best(results, name) for name in names]
    for each in results:
        cells = [str(each.place)]
        for name, highest in zip(names, best, strict=True):
            score = each.score(name)
            text = "" if score is None else f"{score:.2f}"
            cells.append(MARKS[form].format(text) if text and text == highest else text)
        rows.append(cells)
    return "\n".join(_lines(rows, form))


def differing_data(results: Sequence[ExternalResults]) -> Iterator[str]:
    """Yield a line for each score whose dataset differs between the results.

    Args:
        results: the results.
    """
    for name in dict.fromkeys(name for each in results for name in main_scores(each)):
        if _is_on_other_data(results, name):
            yield f"{name}: computed on different datasets, so without a best score"


def _headings(names: Sequence[str]) -> list[str]:
    """Return the names of the tasks; complete names if two are equal."""
    short = []
    for name in names:
        parts = name.split("/")
        short.append("/".join(parts[1:-1] if parts[-1] in (*AGGREGATIONS, "accuracy") else parts[1:]) or name)
    return [name if short.count(task) > 1 else task for name, task in zip(names, short, strict=True)]


def _best(results: Sequence[ExternalResults], name: str) -> str:
    """Return the best score as a string; empty if there is only one."""
    scores = [score for each in results if (score := each.score(name)) is not None]
    if len(scores) < 2 or _is_on_other_data(results, name):
        return ""
    is_lower_better = name.rpartition("/")[2] in LOWER_IS_BETTER
    return f"{min(scores) if is_lower_better else max(scores):.2f}"


def _is_on_other_data(results: Sequence[ExternalResults], name: str) -> bool:
    """Return whether two results contradict each other on the dataset."""
    facts: dict[str, set[str]] = {}
    for each in results:
        for fact, value in each.data_of(name).items():
            facts.setdefault(fact, set()).add(value)
    return any(len(values) > 1 for values in facts.values())


def _lines(rows: Sequence[Sequence[str]], form: str) -> Iterator[str]:
    numbers = range(1, len(rows[0]))
    if form == "text":
        yield from columns(rows, numbers=numbers)
    elif form == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        yield text.getvalue().removesuffix("\n")
    elif form == "markdown":
        for number, row in enumerate(rows):
            yield f"| {' | '.join(row)} |"
            if not number:
                yield f"| --- |{' --: |' * len(numbers)}"
    else:
        yield rf"\begin{{tabular}}{{l{'r' * len(numbers)}}}"
        for number, row in enumerate(rows):
            # Marks are LaTeX, names are not.
            names = map(latex_text, row) if not number else [latex_text(row[0]), *row[1:]]
            yield rf"{' & '.join(names)} \\" + (r" \hline" if not number else "")
        yield r"\end{tabular}"
