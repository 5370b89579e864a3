"""Validate papers by compiling every item at every scale."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from replicse.compile.cache import load_or_compile
from replicse.compile.paths import Paths
from replicse.compile.recipes import Chain, merge_recipe, sort_recipes
from replicse.compile.requests import merge_requests
from replicse.compile.resolve import FIRST, Resolver
from replicse.compile.selection import load_scales
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.registry.run_specs import PARTS
from replicse.spec.additions import with_additions
from replicse.spec.config import Config
from replicse.spec.lock import load_lock
from replicse.spec.papers import Paper
from replicse.spec.scales import OfAnotherScale, Scale, load_scale


def validate_scales(
    config: Config, papers: Mapping[str, Paper], workflow: Path, file: str
) -> dict[str, list[str]]:
    """Compile all items at all scales.

    Args:
        config: the config, for corpora, evaluation datasets and plug-ins.
        papers: a dict from keys to papers.
        workflow: the folder of papers and scales.
        file: the file of the config in error messages.

    Returns:
        A dict from items of another scale to the scales for which they cannot be compiled.

    Raises:
        BadInput: if an item cannot be compiled for another reason.
    """
    files = load_scales(workflow)
    scales = [with_additions(load_scale(path, files), papers, config, file, files) for path in files.values()]
    for scale in scales:
        _check_parts(scale, papers, workflow)
    items = {key: tuple(paper.items) for key, paper in papers.items()}
    added = {"corpora": config.corpora, "sets": config.sets, "plugins": config.plugins}
    elsewhere: dict[str, list[str]] = {}
    for scale in scales:
        everything = Config(scale=scale.name, papers=items, seeds=(0,), adjudicate="all", **added)
        study = load_or_compile(everything, workflow, file, papers=papers, as_far_as_possible=True)
        for item, error in study.unplanned.items():
            elsewhere.setdefault(item, []).append(scale.name)
            if not isinstance(error, OfAnotherScale) or len(elsewhere[item]) == len(scales):
                raise error
        if scale.comparable:
            for problem in unchanged_variants(study):
                raise BadInput(problem)
    return elsewhere


def _check_parts(scale: Scale, papers: Mapping[str, Paper], workflow: Path) -> None:
    """Resolve a scale's backbones, stand-ins and recipes to find mistakes.

    Unused parts are checked as well. Recipes with an entry of another scale are skipped.

    Raises:
        BadInput: if a part cannot be resolved.
    """
    config = Config(scale=scale.name, papers="all", seeds=(0,))
    study = Study(config=config, workflow=workflow, scale=scale, papers=papers, paths=Paths(scale.name))
    resolver = Resolver(study, load_lock(workflow))
    for name in scale.backbones:
        resolver.backbone(name, FIRST.backbone, f"{scale.file}: backbones.{name}")
    for pair in scale.recipes.items():
        for name in pair:
            merge_recipe(papers, "", name, f"{scale.file}: recipes.{pair[0]}")
    for paper, name in sort_recipes(papers):
        location = f"{paper.folder / 'recipes.yaml'}: {name}"
        run = merge_recipe(papers, paper.key, name, location)
        # Skip templates, which lack parts, and recipes that another recipe replaces at this scale.
        if run.model_fields_set >= set(PARTS) and scale.recipe(paper.key, name) == name:
            with suppress(OfAnotherScale):
                written = resolver.recipes.read(paper.key, name, location)
                resolver.runs(written, Chain(paper.key, location), [FIRST])
    for name, released in scale.released.items():
        if released.stand_in is not None:
            location = f"{scale.file}: released.{name}.stand_in"
            resolver.encoders("", merge_requests(released.stand_in), [FIRST], location)


def unchanged_variants(study: Study) -> Iterator[str]:
    """Yield a sentence for each protocol without an effect on a row.

    The runs of such a protocol equal the runs of the text.

    Args:
        study: the study.
    """
    for item, cells in study.cells.items():
        described = {cell.id: cell for cell in study.described(item)}
        paper = study.papers[study.items[item].paper]
        for protocol in paper.protocols:
            variants = [cell for cell in cells if cell.protocol == protocol.id and cell.jobs]
            for row in dict.fromkeys(cell.row.id for cell in variants):
                own = [cell for cell in variants if cell.row.id == row]
                if all(cell.jobs == described[cell.id.described].jobs for cell in own):
                    file = paper.folder / "protocols.yaml"
                    location = f"row {row} of {item} at scale {study.scale.name}"
                    yield f"{file}: {protocol.id} does not change {location}; correct the change or the cells"
