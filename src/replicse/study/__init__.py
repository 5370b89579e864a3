"""The study layer: papers, specs, plans, verdicts. Nothing here imports torch."""
