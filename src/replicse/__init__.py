"""RepliCSE: re-run sentence-embedding papers and print each number next to the reported one.

What is named here is the public interface; everything else may change.
"""

from importlib import import_module

# As that of `typing`, whose import is a fifth of what a job's own process costs where a server runs the job.
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

# Where each name is defined: torch and pandas would triple the start-up of every job, so they wait until asked for.
_HOMES = {
    "Encoder": "encoder.sentence:SentenceEncoder",
    "BadInput": "errors:BadInput",
    "Failed": "errors:Failed",
    "Judgement": "judge.verdict:Judgement",
    "Results": "judge.loading:Results",
    "alignment": "evaluation.geometry:alignment",
    "evaluate": "library.evaluation:evaluate",
    "load": "judge.loading:load",
    "train": "library.training:train",
    "uniformity": "evaluation.geometry:uniformity",
    "verdict": "judge.verdict:verdict",
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
    """Return a public name, imported when it is asked for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("replicse")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(f"replicse.{module}"), attribute)
