"""RepliCSE: re-run sentence-embedding papers, next to published numbers.

The names in `__all__` are the public interface; everything else can change.
"""

from importlib import import_module

# Like `typing.TYPE_CHECKING`; importing `typing` takes a fifth of the time of a job's process with a job server.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from replicse.encoder.sentence import SentenceEncoder as Encoder
    from replicse.errors import BadInput, Failed
    from replicse.evaluation.geometry import alignment, uniformity
    from replicse.judge.report.loading import Results, load
    from replicse.judge.verdicts.verdict import Judgement, verdict
    from replicse.library.evaluation import evaluate
    from replicse.library.training import train

    __version__: str

# The module of each name. They are imported when first used: torch and pandas would triple each job's start-up.
_HOMES = {
    "Encoder": "encoder.sentence:SentenceEncoder",
    "BadInput": "errors:BadInput",
    "Failed": "errors:Failed",
    "Judgement": "judge.verdicts.verdict:Judgement",
    "Results": "judge.report.loading:Results",
    "alignment": "evaluation.geometry:alignment",
    "evaluate": "library.evaluation:evaluate",
    "load": "judge.report.loading:load",
    "train": "library.training:train",
    "uniformity": "evaluation.geometry:uniformity",
    "verdict": "judge.verdicts.verdict:verdict",
}
__all__ = [
    "BadInput",
    "Encoder",
    "Failed",
    "Judgement",
    "Results",
    "__version__",
    "alignment",
    "evaluate",
    "load",
    "train",
    "uniformity",
    "verdict",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("replicse")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(f"replicse.{module}"), attribute)
