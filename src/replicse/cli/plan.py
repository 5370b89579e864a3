"""The verb `plan`: list items, runs, evaluations and costs of a study."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence

from replicse.cli.answers import add_all_argument, answer, command, on_a_screen, room, shortened, wrapped
from replicse.cli.arguments import add_items_argument, add_study_arguments, chosen_study
from replicse.compile.cost import duration_text
from replicse.compile.needs import amounts_text, size_text
from replicse.compile.remarks import adjusted_text
from replicse.compile.summary import PartSummary, Summary, summary_of
from replicse.judge.verdicts.evidence import detectable_differences, detects
from replicse.printable import columns, several

RELEASED = "released"  # the target for the evaluation of released encoders
FEW_ITEMS = 8  # if there are more items, of several papers, papers are listed instead
LARGE_RESULTS = 10e9  # bytes of weights above which the totals contain the size
FEW_LINES = 3  # if there are more lines of remarks, only the number of remarks is printed


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse plan --scale paper --seeds 5")
    parser.epilog = f"{parser.epilog}\n  replicse plan --scale paper simcse/table5 diffcse --device 3090"
    add_items_argument(parser)
    add_all_argument(parser)
    parser.add_argument(
        "--device",
        default="",
        help="device to estimate hours for, or part of the name; default: the newest benchmark, else the scale's first",
    )


def run(arguments: Namespace) -> None:
    """Print the costs of a study, then papers or items, cheapest items first.

    Args:
        arguments: the parsed arguments; if `items` is ["released"], only released encoders are considered.
    """
    if arguments.items == [RELEASED]:
        plan_released(arguments)
        return
    summary = summary_of(chosen_study(arguments), arguments.device)
    detectable = detectable_differences(summary.study)
    items = []
    for item in summary.items:
        items.append({"item": item.name, **item.plain(), "detects": detectable.get(item.name)})
    papers = [{"paper": paper.name, "items": paper.items, **paper.plain()} for paper in summary.papers]
    document = {**summary.plain(), "items": items, "papers": papers}
    units = {"hours": "hours", "detects": "points", "download_bytes": "bytes", "disk_bytes": "bytes"}
    units |= {"gpu_bytes": "bytes", "result_bytes": "bytes"}
    answer(arguments.json, document, plan_lines(summary, detectable, arguments), **units)


def plan_released(arguments: Namespace) -> None:
    """Print number and evaluation time of the released encoders of a study."""
    arguments.items = []
    summary = summary_of(chosen_study(arguments), arguments.device)
    scale, released = summary.study.scale.name, summary.released
    lines = [f"scale {scale}: released encoders are not evaluated; choose another scale with --scale"]
    if released.count:
        lines = [
            f"scale {scale}, only released encoders: {several(released.count, 'encoder')}, {released.text}",
            f"next: replicse run {RELEASED} --scale {scale}",
        ]
    answer(arguments.json, {"scale": scale, **released.plain("encoders")}, lines, hours="hours")


def plan_lines(summary: Summary, detectable: Mapping[str, float], arguments: Namespace) -> Iterator[str]:
    """Yield the totals, then a line for each paper or item.

    Args:
        summary: the costs of the study.
        detectable: a dict from item to the smallest difference that the seeds detect, in points.
        arguments: the parsed arguments; with --all, every item and every remark is listed.
    """
    study, items = summary.study, summary.items
    changed = adjusted_text(study, study.items.values())
    notes = [note for note in summary.notes if note != changed]
    if study.left_out:
        notes.insert(0, f"left out: {', '.join(study.left_out)}: {study.left_out_text}")
    by_paper = len(items) > FEW_ITEMS and len(summary.papers) > 1 and not arguments.all
    foot: list[str] = []
    if by_paper:
        heading, *lines = paper_lines(summary.papers)
    else:
        heading, *lines = item_lines(items, detectable, whole=arguments.all)
        foot += detects_lines(detectable, len(study.seeds))
    counted = len(list(wrapped(notes))) > FEW_LINES and not arguments.all
    if changed:
        foot.append(changed)
    if not counted:
        foot += notes
    if by_paper or counted:
        what = [several(len(items), "item")] * by_paper + [several(len(notes), "remark")] * counted
        foot.append(f"{' and '.join(what)}: {command(arguments, '--all')}")
    elif not arguments.all and not arguments.device:
        foot.append(f"next: {command(arguments, verb='run')}")
    parts = ([line] for line in lines)
    head = [*totals(summary, arguments.all), heading]
    return on_a_screen(arguments, head, parts, "paper" if by_paper else "item", foot)


def totals(summary: Summary, whole: bool) -> Iterator[str]:
    """Yield the size of a study and the costs, cheapest part first.

    Args:
        summary: the costs of the study.
        whole: whether to add the expected time to intervals, and the title of the scale, the source of the estimate
            and related commands.
    """
    study, scale = summary.study, summary.study.scale.name
    seeds = f"seed{'s' * (len(study.seeds) > 1)} {', '.join(map(str, study.seeds))}"
    cells, items = sum(each.cells for each in summary.items), several(len(summary.items), "item")
    known = "measured on" if summary.speed.when else "estimated for"
    yield f"scale {scale}, {seeds}: {items}, {several(cells, 'cell')}; times {known} {summary.speed.device}"
    if whole:
        yield f"{study.scale.title}; {several(len(study.stores), 'tokenised column')}"
        yield origin(summary)
    times = [
        ("released", summary.released, "encoder"),
        ("training", summary.not_searched, "run"),
        ("searches", summary.searched, "run"),
    ]
    if study.source != "embedded":
        times.append(("encoding", summary.evaluation, "encoder"))
    rows = []
    for name, time, what in times:
        if time.count:
            rows.append((f"  {name}", several(time.count, what), time.text if whole else time.interval))
        if name == "searches":
            rows += searches_by_paper(summary.papers)
    rows += resource_rows(summary)
    yield from columns(rows, width=room())
    yield from wrapped(summary.speed.precisions(study.runs.values()))
    if whole and summary.released.count:
        yield f"only released encoders: replicse run released --scale {scale}"
    if whole and summary.needs:
        yield f"sources of the datasets: replicse fetch --scale {scale} --dry-run"


def resource_rows(summary: Summary) -> Iterator[tuple[str, str, str]]:
    """Yield rows for the GPU memory, datasets and disk space of a study."""
    study = summary.study
    if study.scale.needs.gpu == "required" and summary.gpu_bytes:
        yield "  GPU memory", "largest run", f"about {size_text(round(summary.gpu_bytes))}"
    if summary.needs:
        yield "  data", several(len(summary.needs), "source"), amounts_text(summary.needs)
    # The weights of small encoders need little space.
    if summary.result_bytes >= LARGE_RESULTS:
        weights = f"about {size_text(summary.result_bytes)} of weights"
        yield "  results", several(len(study.runs), "run"), weights


def searches_by_paper(papers: Sequence[PartSummary]) -> list[tuple[str, str, str]]:
    """Return a row for the searches of each paper, longest first.

    The list is empty if fewer than two papers have searches.
    """
    searching = [each for each in papers if each.searches.count]
    if len(searching) < 2:
        return []
    searching.sort(key=lambda each: each.searches.expected or 0, reverse=True)
    rows = []
    for paper in searching:
        rows.append((f"    {paper.name}", several(paper.searches.count, "run"), paper.searches.interval))
    return rows


def paper_lines(papers: Sequence[PartSummary]) -> Iterator[str]:
    """Yield a heading and a line for each paper, shortened to the terminal."""
    rows: list[tuple[str, ...]] = [("paper", "items", "cells", "runs", "time", "evaluations", "title")]
    for each in papers:
        rows.append((each.name, str(each.items), *_numbers(each), each.title))
    return (shortened(line, room()) for line in columns(rows, numbers=range(1, 6)))


def item_lines(items: Sequence[PartSummary], detectable: Mapping[str, float], whole: bool) -> Iterator[str]:
    """Yield a heading and a line for each item, cheapest first.

    Args:
        items: the costs of each item.
        detectable: a dict from item to the smallest difference that the seeds detect; if empty, there is no column.
        whole: whether to print the full title on a second line instead of a shortened title.
    """
    heading = ["item", "cells", "runs", "time", "evaluations"]
    if detectable:
        heading.append("detects")
    rows: list[tuple[str, ...] | str] = [(*heading, "title")]
    for item in sorted(items, key=lambda item: (item.searches.count > 0, item.training.expected or 0)):
        cells = [item.name, *_numbers(item)]
        if detectable:
            cells.append(f"{detectable[item.name]:.1f}" if item.name in detectable else "")
        if whole:
            rows += [(*cells, ""), f"    {item.title}"]
        else:
            rows.append((*cells, item.title))
    for line in columns(rows, numbers=range(1, len(heading))):
        yield line if whole else shortened(line, room())


def _numbers(each: PartSummary) -> tuple[str, ...]:
    time = duration_text(each.training.expected).replace(" ", "")
    return f"{each.cells:,}", f"{each.training.count:,}", time, f"{each.evaluations:,}"


def detects_lines(detectable: Mapping[str, float], seeds: int) -> Iterator[str]:
    """Yield an explanation of the column of detectable differences, if any."""
    if detectable:
        explanation = detects(seeds, "this many points")
        yield f"column detects: {explanation}; median over cells with known standard deviation"


def origin(summary: Summary) -> str:
    """Return a sentence about the source of the time estimates."""
    speed = summary.speed
    if speed.when:
        return f"times were measured on {speed.device}, {speed.when}"
    return (
        f"times are estimates for {speed.device}, within a factor of two; replicse benchmark --scale"
        f" {summary.study.scale.name} measures this machine"
    )
