"""RepliCSE: re-run sentence-embedding papers and print each number beside the reported one."""

__version__ = "0.1.0"
