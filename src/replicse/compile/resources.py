"""What a job asks a scheduler for: minutes and MB of memory, from the estimates of a plan or what was measured.

A group of jobs asks for the sum of its jobs' minutes (Snakemake, `GroupResources.basic_layered`), so that a suite that
may take hours is an allocation of its own.
"""

import math

from replicse.compile.cost import Cost
from replicse.compile.sizes import FROZEN_BYTES, encoder_parameters
from replicse.registry.suites import Suite, groups
from replicse.spec.scale_entries import ScaleNeeds

# Minutes that a job is given at least, for starting and for a slow disk; and how many times its expected time.
LEAST_MINUTES, TIMES = 15, 2.0
# MB of Python, torch with its CUDA libraries, and the packages that a job imports.
PROCESS_MB = 4000
# Copies of an encoder's weights that a training has in memory at most: read, saved with the two moments of AdamW.
COPIES = 4
# KB a row of a store: lines of a corpus and their places. 0.70 were measured at 5.4 million rows together with their
# tokens, which are now written in blocks.
STORE_KB = 0.7
# Rows that are tokenised a minute. benchmarks/growth.py: a million sentences in one; augmented ones take longer.
STORE_ROWS = 100_000


def requested_minutes(hours: float | None, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Return the minutes to ask for: twice the expected hours, at least 15 minutes, at most the scale's longest job.

    Args:
        hours: expected hours; the scale's `train_hours` are asked for if they are not known.
        needs: what the scale says of its jobs.
        attempt: 1, and one more at each retry, which is given as many times the minutes.
    """
    minutes = needs.train_hours * 60 if hours is None else hours * TIMES * 60
    return min(max(LEAST_MINUTES, math.ceil(minutes)) * attempt, needs.longest_hours * 60)


def training_minutes(cost: Cost, run: str, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Return the minutes that a training asks for; one that its limit ends is resumed by its retry."""
    estimate = cost.hours([run])
    return requested_minutes(estimate and estimate.expected, needs, attempt)


def evaluation_minutes(cost: Cost, encoder: str, group: str, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Return the minutes that an evaluation asks for: of a suite of hours no more than its `hours`.

    The scoring of such a suite, by the CPU, is taken to last as long as its encoding.
    """
    estimate = cost.encoding(encoder, group)
    encoding = estimate.expected if estimate else 0.0
    if not is_long(group):
        return requested_minutes(encoding, needs, attempt)
    most = max(suite.hours for suite in groups()[group]) * 60 * attempt
    return min(requested_minutes(2 * encoding, needs, attempt), most) if encoding else most


def store_minutes(rows: int | None, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Return the minutes that tokenising a column of so many rows asks for; an hour if they are not known."""
    return requested_minutes(0.5 if rows is None else rows / STORE_ROWS / 60, needs, attempt)


def training_memory_mb(size: tuple[int, int] | None, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Return the memory that a training on a GPU asks for, in MB; the scale's own figure without one.

    Args:
        size: layers and width of the encoder, None if they are not known.
        needs: what the scale says of its jobs: its `train_memory_mb` is the most that a first attempt asks for.
        attempt: 1, and one more at each retry.
    """
    if needs.gpu != "required" or size is None:
        return needs.train_memory_mb * attempt
    weights = FROZEN_BYTES * encoder_parameters(*size) / 1e6
    return min(math.ceil(PROCESS_MB + COPIES * weights), needs.train_memory_mb) * attempt


def evaluation_memory_mb(group: str, needs: ScaleNeeds, attempt: int = 1) -> int:
    """Return the memory that an evaluation asks for, in MB: the most of its suites at a scale with full ones."""
    suites = groups()[group] if needs.full_suites else []
    return max([Suite.memory, *(suite.memory for suite in suites)]) * attempt


def store_memory_mb(rows: int | None, attempt: int = 1) -> int:
    """Return the memory that tokenising a column of so many rows asks for, in MB."""
    return math.ceil(PROCESS_MB / 4 + STORE_KB * (rows or 1_000_000) / 1000) * attempt


def is_long(group: str) -> bool:
    """Return whether a suite of a group may take hours: it is no part of its run's allocation."""
    return any(suite.hours > Suite.hours for suite in groups()[group])
