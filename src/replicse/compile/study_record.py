"""The record of a study: the facts about the study in the report."""

from collections.abc import Iterator
from typing import Any

from replicse.compile.study import Study
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.protocols import ON_BACKBONE


def describe_study(study: Study) -> dict[str, Any]:
    """Return the facts about a study for the report.

    Args:
        study: the study.

    Returns:
        A dict with scale, seeds, papers, protocols and items.
    """
    left_out = f"{', '.join(study.left_out)}: {study.left_out_text}" if study.left_out else ""
    return {
        "scale": study.scale.name,
        "title": study.scale.title,
        "shows": study.scale.shows,
        "comparable": study.scale.comparable,
        "judges_orders": study.scale.judges_orders,
        "seeds": list(study.seeds),
        "source": study.source,
        "precision": study.config.precision or study.scale.precision,
        "unpinned": sorted(study.unpinned),
        "left_out": left_out,
        "protocols": list(_protocols(study)),
        "papers": {key: study.papers[key].about.plain() for key in study.studied},
        "items": list(study.items),
    }


def _protocols(study: Study) -> Iterator[dict[str, str]]:
    """Yield the id, title and evidence of each protocol in the study."""
    run = {cell.protocol for cells in study.cells.values() for cell in cells}
    described = (
        "The setting in the paper's text; if it leaves a choice open, our choice is shown next to the item."
    )
    yield {"id": AS_DESCRIBED, "text": described}
    for key in study.studied:
        for protocol in study.papers[key].protocols:
            if protocol.id in run:
                yield {"id": f"{key}: {protocol.id}", "text": f"{protocol.title}. {protocol.evidence}"}
    crossed = "Every seed's fine-tuning on the backbone that the seed of this number pre-trained."
    for name in sorted(run):
        if name.startswith(ON_BACKBONE):
            yield {"id": name, "text": crossed}
