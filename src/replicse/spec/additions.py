"""Corpora and evaluation sets that papers and a config add to a scale."""

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
    """Return a scale with the corpora and evaluation sets that papers, and a config in `file`, add.

    The scale's own corpus replaces a paper's of the same name; a config's is refused then, and so is a set that two of
    them have. A corpus that several papers have is `paper/name`. `scales` are the names under which rows may be given.
    """
    for name in (config.corpora or {}).keys() & scale.corpora.keys():
        raise BadInput(f'{file}: corpora: "{name}" is a corpus of {scale.file}; rename yours')
    corpora, sets = (_joined(kind, papers, config, file) for kind in ("corpora", "sets"))
    for name, (corpus, home) in corpora.items():
        check_names(f"{home}: corpora.{name}.at", getattr(corpus, "at", ()), scales)
    more = {
        name: corpus.at_scale(scale.name) if isinstance(corpus, Table) else corpus
        for name, (corpus, _) in corpora.items()
    }
    options = {"sets": {"sets": {name: one.recipe() for name, (one, _) in sets.items()}}} if sets else {}
    return scale.model_copy(
        update={"corpora": {**more, **scale.corpora}, "options": {**scale.options, **options}}
    )


def _joined(kind: str, papers: Mapping[str, Paper], config: Config, file: str) -> dict[str, tuple[Any, str]]:
    """Return what papers and a config add of a kind by name, each with the file that it is in."""
    homes = {f"{paper.folder / kind}.yaml": getattr(paper, kind) for paper in papers.values()}
    shared = shared_corpora(papers) if kind == "corpora" else set()
    joined: dict[str, tuple[Any, str]] = {}
    for home, entries in {**homes, file: getattr(config, kind) or {}}.items():
        for name, entry in entries.items():
            # Two papers may have corpora of one name: their recipes name their own.
            key = f"{Path(home).parent.name}/{name}" if name in shared and home != file else name
            if key in joined:
                raise BadInput(f'{home}: {kind}: "{name}" is in {joined[key][1]} too; rename one')
            joined[key] = entry, home
    return joined
