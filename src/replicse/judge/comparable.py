"""Whether a cell can be compared with print, and the published spread that its verdict may borrow."""

from replicse.compile.study import Cell, Study, kept_checkpoint
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.printed import Spread
from replicse.spec.settings import setting_difference


def why_not_comparable(plan: Study, cell: Cell) -> str:
    """Return why a cell is not comparable with what is printed; blank where it is."""
    if not plan.scale.comparable:
        return f"the {plan.scale.name} scale is not the paper's setting"
    poolings = {plan.encoders[name].pooling for name in cell.encoders if name != "data"}
    return setting_difference(
        cell.item.setting, cell.metric_path, poolings.pop() if len(poolings) == 1 else None
    )


def borrowed_spread(plan: Study, cell: Cell) -> Spread | None:
    """Return the published spread of a cell whose runs were all trained in the setting it was measured in."""
    described = plan.scale.comparable and cell.protocol == AS_DESCRIBED
    if not described or cell.column.kind not in ("score", "difference") or cell.column.over.jobs:
        return None
    spreads = {_published(plan, encoder, cell.metric_path) for encoder in cell.encoders}
    return spreads.pop() if len(spreads) == 1 else None


def _published(plan: Study, encoder: str, metric_path: str) -> Spread | None:
    spec = plan.encoders[encoder]
    spreads = plan.measured.get(spec.source.run or "", {})
    if metric_path not in spreads or spec.postprocess:
        return None
    run = plan.run_of(encoder)
    if run is None:
        return None
    as_trained = (spec.pooling, spec.checkpoint) == (run.pooling.test, kept_checkpoint(run))
    return spreads[metric_path] if as_trained else None
