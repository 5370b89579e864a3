"""Compute the requests of jobs to a scheduler: memory and time.

They are computed from the estimates of a study or from measurements. A group of jobs requests the sum of the jobs'
minutes (Snakemake, `GroupResources.basic_layered`), so an evaluation that may take hours has a separate allocation.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from replicse.compile.cost import Cost
from replicse.compile.lineage import run_sources
from replicse.compile.sizes import FROZEN_BYTES, Sources, encoder_parameters, sizes_of
from replicse.compile.study import Study
from replicse.registry.suites import Suite, groups
from replicse.spec.scale_entries import ScaleNeeds

# The minimum minutes of a job, for the start and a slow disk; and the factor between expected and requested time.
LEAST_MINUTES, TIMES = 15, 2.0
# Groups of suites that train classifiers. Estimates do not count the training, so the jobs request at least the default
# hours of a suite.
CLASSIFIERS = ("transfer", "heads")
# MB of Python, torch with CUDA libraries, and the packages that a job imports.
PROCESS_MB = 4000
# The maximum number of copies of the weights in a training: loaded, and saved with the two moments of AdamW.
COPIES = 4
# KB per row of a store: lines of a corpus and their offsets. 0.70 was measured at 5.4 million rows together with the
# tokens, which are now written in blocks.
STORE_KB = 0.7
# Rows tokenised per minute, a low estimate: a million sentences take a minute in benchmarks/growth.py, augmented
# sentences take longer.
STORE_ROWS = 100_000


class JobResources:
    """The resources of the jobs of a study, as functions for Snakemake.

    Snakemake calls each function with the wildcards of the rule and the number of the attempt, from 1. By default, a
    scheduler starts the jobs on other machines.

    Args:
        study: the study.
        is_local: A function that returns whether the jobs run on this machine, without a scheduler. Snakemake knows
            the executor only after parsing the workflow. Default: they do not.
    """

    def __init__(self, study: Study, is_local: Callable[[], bool] = lambda: False) -> None:
        self.study, self.needs, self.is_local = study, study.scale.needs, is_local
        self.threads = self.needs.threads
        self.gpus = int(self.needs.gpu != "none")

    def train_memory(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of a training in MB; a retry gets more."""
        size = sizes_of(self.study.runs[wildcards.run].init, self._sources)
        return training_memory_mb(size, self.needs, attempt)

    def train_time(self, wildcards: Any, attempt: int) -> int:
        """Return the time of a training in minutes.

        A retry resumes the training and gets more time. The limit leaves time for the evaluations in the same
        allocation; the time of an allocation is the sum over its jobs.
        """
        asked = training_minutes(self._cost, wildcards.run, self.needs, attempt)
        others = 0
        for encoder, group in self._evaluations.get(wildcards.run, ()):
            others += evaluation_minutes(self._cost, encoder, group, self.needs, attempt)
        return max(LEAST_MINUTES, min(asked, self.needs.longest_hours * 60 - others))

    def evaluation_memory(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of an evaluation in MB; a retry gets more."""
        return evaluation_memory_mb(wildcards.get("group", "trajectory"), self.needs, attempt)

    def evaluation_time(self, wildcards: Any, attempt: int) -> int:
        """Return the time of an evaluation in minutes; a retry gets more."""
        group = wildcards.get("group", "trajectory")
        return evaluation_minutes(self._cost, wildcards.encoder, group, self.needs, attempt)

    def store_memory(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of tokenising a column in MB; a retry gets more."""
        return store_memory_mb(self._rows(wildcards.name), attempt)

    def store_time(self, wildcards: Any, attempt: int) -> int:
        """Return the time of tokenising a column in minutes; a retry gets more."""
        return store_minutes(self._rows(wildcards.name), self.needs, attempt)

    def name_allocation(self, wildcards: Any) -> str | None:
        """Return the name of a job's allocation; None if no other job shares it.

        A run shares its allocation with its trajectory and its short evaluations.
        """
        if self.is_local() or self.is_long(wildcards.get("group", "trajectory")):
            return None
        run = wildcards.get("run") or self.study.run_name(wildcards.encoder)
        return f"run-{run}" if run else None

    def is_long(self, group: str) -> bool:
        """Return whether an evaluation has a separate allocation.

        Args:
            group: the group of suites; a group with a suite that can take hours has a separate allocation.
        """
        return self.needs.full_suites and is_long(group)

    def _rows(self, store: str) -> int | None:
        return self.study.scale.rows(self.study.stores[store]["corpus"]["name"])

    # Snakemake parses the workflow in each job, and most jobs use no estimate.
    @cached_property
    def _cost(self) -> Cost:
        return Cost(self.study)

    @cached_property
    def _evaluations(self) -> Mapping[str, list[tuple[str, str]]]:
        """Return the evaluations in the allocation of each run."""
        evaluations: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name, encoder in self.study.encoders.items():
            for group in self.study.groups(name):
                if encoder.source.run and not self.is_long(group):
                    evaluations[encoder.source.run].append((name, group))
        return evaluations

    @cached_property
    def _sources(self) -> Sources:
        return run_sources(self.study)


def requested_minutes(hours: float | None, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Compute the requested minutes of a job.

    The request is twice the expected hours, at least 15 minutes, and at most the longest job of the scale.

    Args:
        hours: expected hours. Default if they are None: `train_hours` of the scale.
        needs: the resources of jobs in the scale.
        attempt: the number of the attempt; a retry requests this multiple of the minutes. Default: 1.
    """
    minutes = needs.train_hours * 60.0
    if hours is not None:
        minutes = hours * TIMES * 60
    return min(max(LEAST_MINUTES, math.ceil(minutes)) * attempt, needs.longest_hours * 60)


def training_minutes(cost: Cost, run: str, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Compute the requested minutes of a training.

    Args:
        cost: the cost of the study.
        run: the id of the run.
        needs: the resources of jobs in the scale.
        attempt: the number of the attempt; a retry resumes a training at the time limit. Default: 1.
    """
    estimate = cost.hours([run])
    return requested_minutes(estimate and estimate.expected, needs, attempt)


def evaluation_minutes(cost: Cost, encoder: str, group: str, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Compute the requested minutes of an evaluation.

    A long suite requests at most the `hours` of the suite. The scoring of such a suite, by the CPU, is assumed to take
    as long as the encoding.

    Args:
        cost: the cost of the study.
        encoder: the id of the encoder.
        group: the group of suites.
        needs: the resources of jobs in the scale.
        attempt: the number of the attempt. Default: 1.
    """
    estimate = cost.encoding(encoder, group)
    hours = estimate.expected if estimate else 0.0
    if group in CLASSIFIERS or not hours:
        hours = max(hours, Suite.hours / TIMES)
    if not (needs.full_suites and is_long(group)):
        return requested_minutes(hours, needs, attempt)
    most = max(suite.hours for suite in groups()[group]) * 60 * attempt
    if estimate is None:
        return most
    return min(requested_minutes(2 * hours, needs, attempt), most)


def store_minutes(rows: int | None, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Compute the requested minutes for tokenising a column.

    Args:
        rows: the number of rows of the corpus; None requests an hour.
        needs: the resources of jobs in the scale.
        attempt: the number of the attempt. Default: 1.
    """
    hours = 0.5 if rows is None else rows / STORE_ROWS / 60
    return requested_minutes(hours, needs, attempt)


def training_memory_mb(size: tuple[int, int] | None, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Compute the requested memory of a training in MB.

    Without a GPU, the value of the scale is used.

    Args:
        size: layers and width of the encoder; None if they are not known.
        needs: the resources of jobs in the scale: `train_memory_mb` is the maximum of a first attempt.
        attempt: the number of the attempt. Default: 1.
    """
    if needs.gpu != "required" or size is None:
        return needs.train_memory_mb * attempt
    weights = FROZEN_BYTES * encoder_parameters(*size) / 1e6
    return min(math.ceil(PROCESS_MB + COPIES * weights), needs.train_memory_mb) * attempt


def evaluation_memory_mb(group: str, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Compute the requested memory of an evaluation in MB.

    Args:
        group: the group of suites; at a scale with full suites the maximum over the suites is used.
        needs: the resources of jobs in the scale.
        attempt: the number of the attempt. Default: 1.
    """
    memory = [Suite.memory]
    if needs.full_suites:
        memory += [suite.memory for suite in groups().get(group, [])]
    return max(memory) * attempt


def store_memory_mb(rows: int | None, attempt: int = 1) -> int:
    """Compute the requested memory for tokenising a column in MB.

    Args:
        rows: the number of rows of the corpus. Default if it is None: a million.
        attempt: the number of the attempt. Default: 1.
    """
    return math.ceil(PROCESS_MB / 4 + STORE_KB * (rows or 1_000_000) / 1000) * attempt


def is_long(group: str) -> bool:
    """Return whether a suite of a group can take hours at the papers' scale.

    Args:
        group: the group of suites.
    """
    return any(suite.hours > Suite.hours for suite in groups().get(group, []))
