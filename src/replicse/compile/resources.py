"""The memory and time that a job asks a scheduler for."""

from typing import Any

from replicse.compile.study import Study
from replicse.registry.suites import Suite, groups


class JobResources:
    """The resources of the jobs of a study, as functions that Snakemake calls with wildcards and the attempt."""

    def __init__(self, study: Study) -> None:
        self.needs = study.scale.needs
        self.threads = self.needs.threads
        self.gpus = int(self.needs.gpu != "none")

    def train_memory(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of a training in MB; a retry gets more."""
        return self.needs.train_memory_mb * attempt

    def train_time(self, wildcards: Any, attempt: int) -> int:
        """Return the time of a training in minutes; a retry resumes, and gets more."""
        return self.needs.train_hours * 60 * attempt

    def evaluation_memory(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of an evaluation in MB; a retry gets more."""
        return self._find_largest(wildcards.get("group", ""), "memory") * attempt

    def evaluation_time(self, wildcards: Any, attempt: int) -> int:
        """Return the time of an evaluation in minutes; a retry gets more."""
        return self._find_largest(wildcards.get("group", ""), "hours") * 60 * attempt

    def _find_largest(self, group: str, resource: str) -> int:
        """Return the most that a suite of a group needs; of any suite if the scale's evaluation sets are small."""
        suites = groups().get(group, []) if self.needs.full_suites else []
        return max(getattr(suite, resource) for suite in (Suite, *suites))
