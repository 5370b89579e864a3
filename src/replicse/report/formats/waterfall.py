"""A picture of one gap: the effect of each variant on top of the others, against the printed gap."""

from html import escape

from replicse.report.content.contents import Step, Waterfall

LABELS, WIDTH, TEXT, LINE, BAR, TOP = 180, 250, 240, 20, 11, 8


def waterfall_svg(fall: Waterfall) -> str:
    """Return the picture as SVG, its looks by the report's style sheet."""
    ends = [
        end
        for step in fall.steps
        for end in (0.0, step.start, step.end, step.low, step.high)
        if end is not None
    ]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def place(value: float) -> float:
        return LABELS + WIDTH * (0.02 + 0.96 * (value - low) / span)

    height = TOP + LINE * len(fall.steps) + 4
    steps = "; ".join(f"{step.label} {step.text}" for step in fall.steps)
    parts = [
        f'<svg class="waterfall" viewBox="0 0 {LABELS + WIDTH + TEXT} {height}" role="img"'
        f' aria-label="{escape(f"{fall.title}: {steps}")}">'
    ]
    goal = [(fall.steps[0].end, "goal")] if fall.steps[0].kind == "gap" else []
    for value, kind in ((0.0, "zero"), *goal):
        x = f"{place(value):.1f}"
        parts.append(f'<line class="{kind}" x1="{x}" x2="{x}" y1="2" y2="{height - 2}"/>')
    for line, step in enumerate(fall.steps):
        parts += _bar(step, place(step.start), place(step.end), TOP + LINE * line)
        if step.low is not None and step.high is not None:
            y = TOP + LINE * line + BAR / 2
            parts.append(
                f'<line class="range" x1="{place(step.low):.1f}" x2="{place(step.high):.1f}" y1="{y}" y2="{y}"/>'
            )
    return "".join([*parts, "</svg>"])


def _bar(step: Step, start: float, end: float, y: float) -> list[str]:
    x, width = min(start, end), max(abs(end - start), 1.0)
    return [
        f'<text class="step" x="{LABELS - 8}" y="{y + BAR - 2}">{escape(step.label)}</text>',
        f'<rect class="{step.kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}"/>',
        f'<text x="{LABELS + WIDTH + 8}" y="{y + BAR - 2}">{escape(step.text)}</text>',
    ]
