"""Add the corpora and datasets of papers and a config to a scale."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, check_names
from replicse.registry.tables import Table
from replicse.spec.config import Config
from replicse.spec.own_corpora import shared_corpora
from replicse.spec.papers import Paper
from replicse.spec.scales import Scale


def with_additions(
    scale: Scale, papers: Mapping[str, Paper], config: Config, file: str, scales: Collection[str]
) -> Scale:
    """Create a scale with the corpora and datasets of papers and a config.

    A corpus of the scale replaces a paper's corpus of the same name. If several papers define a corpus, it is named
    `paper/name`.

    Args:
        scale: the scale.
        papers: a dict from keys to papers.
        config: the config.
        file: the file of the config in error messages.
        scales: the names of all scales, for which a corpus can specify rows.

    Returns:
        A copy of the scale.

    Raises:
        BadInput: if a corpus of the config has the name of a corpus of the scale, or two datasets have the same name.
    """
    for name in (config.corpora or {}).keys() & scale.corpora.keys():
        raise BadInput(f'{file}: corpora: "{name}" is a corpus of {scale.file}; rename yours')
    corpora = _join_entries("corpora", papers, config, file)
    sets = _join_entries("sets", papers, config, file)
    for name, (corpus, home) in corpora.items():
        check_names(f"{home}: corpora.{name}.at", getattr(corpus, "at", ()), scales)
    added = {}
    for name, (corpus, _) in corpora.items():
        added[name] = corpus.at_scale(scale.name) if isinstance(corpus, Table) else corpus
    options = dict(scale.options)
    if sets:
        options["sets"] = {"sets": {name: entry.recipe() for name, (entry, _) in sets.items()}}
    return scale.model_copy(update={"corpora": {**added, **scale.corpora}, "options": options})


def _join_entries(
    kind: str, papers: Mapping[str, Paper], config: Config, file: str
) -> dict[str, tuple[Any, str]]:
    """Return corpora or datasets of papers and config, with their files."""
    homes = {f"{paper.folder / kind}.yaml": getattr(paper, kind) for paper in papers.values()}
    shared = shared_corpora(papers) if kind == "corpora" else set()
    joined: dict[str, tuple[Any, str]] = {}
    for home, entries in {**homes, file: getattr(config, kind) or {}}.items():
        for name, entry in entries.items():
            # Several papers can define a corpus of the same name; recipes of a paper use the corpus of this paper.
            key = name
            if name in shared and home != file:
                key = f"{Path(home).parent.name}/{name}"
            if key in joined:
                raise BadInput(f'{home}: {kind}: "{name}" is in {joined[key][1]} too; use different names')
            joined[key] = entry, home
    return joined
