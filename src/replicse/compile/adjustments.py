"""Adjustments of runs to a scale: factors, upper bounds, fixed values."""

from typing import Any

from replicse.checked import Checked
from replicse.registry.run_specs import RunSpec
from replicse.spec.scale_entries import HEAD_WIDTHS, Adjust
from replicse.spec.scales import Scale


def adjust_run(scale: Scale, run: RunSpec, own: RunSpec, location: str) -> RunSpec:
    """Apply the rules of `adjust` of a scale to a run, in order.

    Args:
        scale: the scale.
        run: the run as recipes and requests specify it.
        own: the values that papers of the workspace set; a packaged scale does not change them.
        location: the location in error messages.

    Returns:
        The adjusted run; the same run if no rule applies.

    Raises:
        BadInput: if an adjusted value is not valid.
    """
    for rule in scale.adjust:
        section, _, key = rule.path.partition(".")
        if getattr(run, section) is None:
            continue  # e.g. a run without momentum does not get any
        if _sets(own, section, key) and "adjust" not in scale.workspace_keys:
            continue
        old: Any = None
        written: dict[str, Any] = {}
        if section in run.model_fields_set:
            part = getattr(run, section)
            old, written = part.entries().get(key), part.written()
        if rule.path in HEAD_WIDTHS and old is None:
            continue
        new = _adjust_value(rule, old)
        if new is _UNCHANGED:
            continue
        kind = type(getattr(run, section))
        run = run.replace(**{section: kind.of({**written, key: new}, f"{location}: {section}")})
    return run


_UNCHANGED = object()


def _sets(run: RunSpec, section: str, key: str) -> bool:
    """Return whether a run sets a key of a section."""
    if section not in run.model_fields_set:
        return False
    part: Checked | None = getattr(run, section)
    return part is not None and key in part.model_fields_set


def _adjust_value(rule: Adjust, old: Any) -> Any:
    """Return the adjusted value, or `_UNCHANGED` if the rule does not apply."""
    if rule.factor is not None and old is not None:
        return float(format(old * rule.factor, ".12g"))
    if rule.at_most is not None:
        return rule.at_most if old is None else min(int(old), rule.at_most)
    if "set" in rule.model_fields_set:
        return rule.set
    return _UNCHANGED
