"""Names of corpora defined in several papers: `paper/name` in a scale."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from replicse.registry.run_specs import RunSpec

if TYPE_CHECKING:
    from replicse.spec.papers import Paper

Layer = TypeVar("Layer", bound=RunSpec)


def shared_corpora(papers: Mapping[str, "Paper"]) -> set[str]:
    """Return the names of corpora defined in several papers.

    Args:
        papers: a dict from keys to papers.
    """
    seen: set[str] = set()
    shared: set[str] = set()
    for paper in papers.values():
        shared |= seen & paper.corpora.keys()
        seen |= paper.corpora.keys()
    return shared


def name_corpus(name: str, paper: "Paper", papers: Mapping[str, "Paper"]) -> str:
    """Return the name of a paper's corpus in a scale.

    The name contains the paper if several papers define the corpus.

    Args:
        name: the name in the paper.
        paper: the paper.
        papers: a dict from keys to all papers.
    """
    if name in shared_corpora(papers) & paper.corpora.keys():
        return f"{paper.key}/{name}"
    return name


def with_own_corpora(run: Layer, paper: "Paper", papers: Mapping[str, "Paper"]) -> Layer:
    """Return a layer of a run with the scale's names of corpora.

    Args:
        run: the layer.
        paper: the paper that contains it.
        papers: a dict from keys to all papers.
    """
    if run.corpus and (named := name_corpus(run.corpus, paper, papers)) != run.corpus:
        run = run.replace(corpus=named)
    beside = tuple(source.replace(corpus=name_corpus(source.corpus, paper, papers)) for source in run.beside)
    if beside == run.beside:
        return run
    return run.replace(beside=beside)
