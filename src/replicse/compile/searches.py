"""Searches over hyper-parameters: grids and random searches.

A scale runs some of the jobs of a search, each with a change of the run.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from replicse.errors import BadInput
from replicse.registry.runs import Run
from replicse.spec.models import Draw, EncoderRequest
from replicse.spec.scales import Scale


def limit_searches(scale: Scale, is_own: bool) -> Scale:
    """Return the scale with the limits of searches for a paper.

    Limits of a packaged scale do not apply to a paper of the workspace.

    Args:
        scale: the scale.
        is_own: whether the paper is in the workspace.
    """
    if not is_own:
        return scale
    no_limits: dict[str, Any] = {"grids": {}, "draws": None}
    for key in scale.workspace_keys & no_limits.keys():
        del no_limits[key]
    return scale.model_copy(update=no_limits)


def list_search_values(scale: Scale, request: EncoderRequest, location: str) -> list[dict[str, Any]]:
    """Return the values of each job of a search, by path in the run.

    A grid keeps the values of the scale's `grids`, in the paper's order. Only the first `draws` random jobs are run.

    Args:
        scale: the scale.
        request: the request with a grid or a random search.
        location: the location in error messages.

    Returns:
        A list with a dict for each job; a single empty dict if the request is not a search.

    Raises:
        BadInput: if the request has a grid and a random search, or the scale removes all values of a grid.
    """
    grid, draw = request.grid or {}, request.draw
    if grid and draw:
        raise BadInput(f"{location}: the encoder has a grid and a draw; remove grid or draw")
    if draw:
        # The domains of several layers are checked together.
        return Draw.of(draw.written(), f"{location}: draw").list_values(scale.draws)
    kept = [keep_grid_values(scale, name, values, location) for name, values in grid.items()]
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*kept)]


def count_search_jobs(scale: Scale, request: EncoderRequest, location: str) -> int:
    """Return the number of jobs of a request's search; 1 without a search.

    Args:
        scale: the scale, which can limit the search.
        request: the request.
        location: the location in error messages.
    """
    if draw := request.draw:
        return min(draw.jobs, scale.draws or draw.jobs)
    grid = request.grid or {}
    return math.prod(len(keep_grid_values(scale, name, values, location)) for name, values in grid.items())


def keep_grid_values(scale: Scale, name: str, values: Sequence[Any], location: str) -> list[Any]:
    """Return the values of a path of a grid for a scale.

    Args:
        scale: the scale.
        name: the path in the run, such as "optimisation.batch_size".
        values: the values of the grid.
        location: the location in error messages.

    Raises:
        BadInput: if the scale does not use any of the values.
    """
    wanted = scale.grids.get(name, values)
    kept = [value for value in values if value in wanted]
    if not kept:
        raise BadInput(
            f"{location}: {scale.file} uses the values {list(wanted)} of the grid {name}, but the grid has"
            f" {list(values)}; use a value of the grid in the scale"
        )
    return kept


def get_setting(run: Run | None, path: str) -> Any:
    """Return the value at a path of a run.

    Args:
        run: the run; without a run the value is None.
        path: `section.key` or `terms.TERM.key`.
    """
    section, *rest = path.split(".")
    if section == "terms" and run:
        part = next((term for term in run.objective if term.term == rest[0]), None)
    else:
        part = getattr(run, section, None)
    return getattr(part, rest[-1], None)


def search_change(values: Mapping[str, Any], location: str) -> EncoderRequest:
    """Create the change of a request for a job of a search.

    Args:
        values: a dict from paths to values: `section.key` of the run, as in {"optimisation.batch_size": 64}, or
            `terms.TERM.key`.
        location: the location in error messages.
    """
    change: dict[str, Any] = {}
    for name, value in values.items():
        *path, key = name.split(".")
        layer = "vary" if path[0] == "terms" else "run"
        inner = change.setdefault(layer, {})
        for part in path:
            inner = inner.setdefault(part, {})
        inner[key] = value
    return EncoderRequest.of(change, location)
