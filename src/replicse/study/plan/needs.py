"""What a plan reads from outside: data sets of the hub and files of the data root."""

from collections.abc import Iterator, Mapping
from typing import Any

from replicse.registry.corpora import HubPart, corpus_of
from replicse.study.paper.layers import mappings, named_files
from replicse.study.plan.plan import Plan


def hub_parts(plan: Plan) -> list[HubPart]:
    """Return the parts of hub data sets that some job reads, each once, with what the scale tells of them."""
    told = {
        _key(part): part for corpus in plan.scale.corpora.values() for part in getattr(corpus, "parts", ())
    }
    wanted = (
        part for one in _read(plan) if one.get("format") == "hub-dataset" for part in corpus_of(one).parts
    )
    found = {_key(part): part for part in wanted}
    return [told.get(key, part) for key, part in found.items()]


def data_files(plan: Plan) -> list[str]:
    """Return the files below the data root that some job reads, by name, evaluation sets apart."""
    return named_files(_read(plan))


def _key(part: HubPart) -> tuple[str | None, ...]:
    return part.path, part.name, part.split, part.files, part.revision


def _read(plan: Plan) -> Iterator[Mapping[str, Any]]:
    """Yield every mapping in the specs of a plan's jobs that may name something outside."""
    suites = set().union(*plan.suites.values())
    yield from mappings(
        [
            list(plan.stores.values()),
            list(plan.tokenizers.values()),
            [encoder.plain() for encoder in plan.encoders.values()],
            [options for suite, options in plan.scale.options.items() if suite in suites],
            plan.count_job(),
        ]
    )
