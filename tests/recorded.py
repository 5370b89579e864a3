"""A small record in memory, for cells of the shipped papers.

It contains sources with settings, and readings.
"""

from functools import cache
from pathlib import Path

from planned import WORKFLOW

from replicse.compile.record_study import record_study
from replicse.judge.values.record_measurements import RecordMeasurements
from replicse.spec.papers import load_papers
from replicse.spec.record import Record, Source, SourceReading

UNSUP = "simcse/table5/unsup-simcse-bert-base/avg"
DIFFCSE = "diffcse/table1/diffcse-bert-base/avg"
SETTINGS = {
    "printed": {"as": "printed", "encoder": "retrained", "read_off": "table"},
    "released": {"as": "printed", "encoder": "released", "read_off": "table"},
    "four": {"differs": {"devices": 4, "batch": 256}, "encoder": "retrained", "read_off": "table"},
    "four-head": {
        "differs": {"devices": 4, "batch": 256, "pooling": "cls-head"},
        "encoder": "retrained",
        "read_off": "table",
    },
    "head": {"differs": {"pooling": "cls-head"}, "encoder": "released", "read_off": "table"},
    "own": {"other": ["own implementation"], "encoder": "retrained", "read_off": "table"},
}


@cache
def shipped_papers():
    """Load the shipped papers once."""
    return load_papers(WORKFLOW)


def made_record(lines):
    """Create a record.

    Args:
        lines: List of (source, cell, setting, seed, value). Each source has all settings of `SETTINGS`.
    """
    sources, readings = {}, []
    for line, (name, cell, setting, seed, value) in enumerate(lines, start=2):
        about = {
            "who": name,
            "repository": f"somebody/{name}",
            "commit": "0" * 40,
            "year": 2024,
            "code": "theirs",
        }
        sources.setdefault(name, Source.of({**about, "settings": SETTINGS}, name))
        sources[name]._file = Path(f"{name}.yaml")
        entry = {"source": name, "cell": cell, "setting": setting, "seed": seed, "value": value}
        readings.append(SourceReading.of({**entry, "place": "log.txt", "line": line}, name))
    return Record(sources=sources, readings=tuple(readings))


def measurements_of(lines):
    """Return the measurements of a record with these lines."""
    return RecordMeasurements(record_study(WORKFLOW, shipped_papers(), made_record(lines)))


def seeds_of(source, cell, setting, values, first=0):
    """Return a line for each of several seeds.

    Args:
        source: Name of the source.
        cell: Id of the cell.
        setting: Name of the setting.
        values: List of scores by seed, as strings.
        first: First seed. Default: 0.
    """
    return [(source, cell, setting, first + place, value) for place, value in enumerate(values)]
