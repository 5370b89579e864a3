"""RepliCSE: re-run sentence-embedding papers and print each number beside the reported one."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replicse.study.results.loading import load

    __version__: str

__all__ = ["__version__", "load"]


def __getattr__(name: str) -> Any:
    """Return `load` or the version, imported when they are asked for: pandas would triple the start-up of every job."""
    if name == "load":  # The module has another name: importing it would put it in the place of the function.
        from replicse.study.results.loading import load

        return load
    if name == "__version__":
        from importlib.metadata import version

        return version("replicse")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
