"""Labs and the reproduction log, as pages of the report."""

from collections.abc import Mapping, Sequence
from operator import itemgetter

from replicse.report.content.contents import Page
from replicse.report.content.tables import Columns, Sheet
from replicse.study.results.table import ItemResult

LABS_TEXT = (
    "Cells that several labs brought; a lab is a processor or GPU with its torch and transformers. The two standard"
    " deviations are between the seeds of a lab and between labs (random effects, restricted maximum likelihood). ± is"
    " half the 95% interval of the mean over labs, from three labs on. A number that labs repeat to the last bit under"
    " one seed is one seed, of the first of them.",
)
LAB_COLUMNS: Columns = {
    "Cell": itemgetter("cell"),
    "Pooled": itemgetter("pooled"),
    "Lab": itemgetter("lab"),
    "Seeds": itemgetter("seeds"),
    "Values": itemgetter("values"),
}
LOG_TEXT = (
    "Who ran these items, on what, and when: rows of reports/log.csv, which `replicse contribute` writes and a pull"
    " request brings.",
)
LOG_COLUMNS: Columns = {
    "Date": itemgetter("date"),
    "Item": itemgetter("item"),
    "Scale": itemgetter("scale"),
    "Seeds": itemgetter("seeds"),
    "Machine": itemgetter("machine"),
    "Commit": lambda row: row["commit"][:12],
    "Numbers": lambda row: f"{row['numbers'].count('; ') + 1} cells, sha256 {row['numbers_sha256'][:12]}",
}


def labs_page(items: Sequence[ItemResult]) -> Page | None:
    """Return the page of cells that several labs brought; None where none did."""
    rows = []
    for item in items:
        for cell in item.cells:
            if cell.labs is None:
                continue
            for count, lab in enumerate(dict.fromkeys(each.lab for each in cell.values)):
                own = [each for each in cell.values if each.lab == lab and isinstance(each.value, float)]
                rows.append(
                    {
                        "cell": "" if count else "/".join([item.item, *cell.key[:2]]),
                        "pooled": "" if count else cell.labs.text,
                        "lab": lab,
                        "seeds": ", ".join(str(each.seed) for each in own),
                        "values": ", ".join(f"{each.value:.2f}" for each in own),
                    }
                )
    return Page("Labs", LABS_TEXT, (Sheet.of("Labs", rows, LAB_COLUMNS),)) if rows else None


def log_page(rows: Sequence[Mapping[str, str]]) -> Page | None:
    """Return the page of the reproduction log; None where no row is of these items."""
    return Page("Reproduction log", LOG_TEXT, (Sheet.of("Runs", rows, LOG_COLUMNS),)) if rows else None
