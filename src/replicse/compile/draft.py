"""What is filled while a study is compiled; what comes out is a Study."""

from dataclasses import dataclass, field
from typing import Any

from replicse.compile.study import Cell, StudyParts, backbone_id, kept_checkpoint, tokenizer_id
from replicse.errors import BadInput
from replicse.registry.artefacts import TOKENIZER
from replicse.registry.encoders import Precision
from replicse.registry.runs import Init, Run
from replicse.spec.models import Encoder
from replicse.spec.printed import Spread
from replicse.spec.tables import Item


@dataclass(frozen=True, eq=False)
class Draft(StudyParts):
    """A study as far as it is compiled: items add encoders, these runs, these backbones, tokenizers and stores."""

    items: dict[str, Item] = field(default_factory=dict)
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    encoders: dict[str, Encoder] = field(default_factory=dict)
    suites: dict[str, set[str]] = field(default_factory=dict)
    read: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    backbones: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokenizers: dict[str, dict[str, Any]] = field(default_factory=dict)
    stores: dict[str, dict[str, Any]] = field(default_factory=dict)
    # run -> the stores of its views
    run_stores: dict[str, list[str]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    measured: dict[str, dict[str, Spread]] = field(default_factory=dict)
    unpinned: set[str] = field(default_factory=set)
    without_pooler: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)
    unplanned: dict[str, BadInput] = field(default_factory=dict)

    def precision(self, paper: str) -> Precision:
        """Return the precision that a paper's runs are trained in; a run's own takes precedence."""
        if self.config.precision:
            return self.config.precision
        precision = self.scale.precision
        return precision if precision != "papers" else self.printed_precision(paper) or "fp32"

    def first(self, init: Init) -> Init:
        """Return what the first run was made from, of the runs that one continues."""
        while init.run:
            init = self.runs[init.run].init
        return init

    def tokenizer_file(self, init: Init) -> str:
        """Return the tokenizer file of a run, followed through the runs it starts from."""
        init = self.first(init)
        if init.fresh:
            return self.paths.tokenizer(tokenizer_id(init.fresh.tokenizer))
        return f"{self.paths.backbone(backbone_id(init))}/{TOKENIZER}"

    def init_folder(self, run: Run) -> str:
        """Return the folder a run's weights start from; empty for a fresh encoder."""
        if run.init.run:
            which = run.init.checkpoint or kept_checkpoint(self.runs[run.init.run])
            return self.paths.checkpoint(run.init.run, which)
        return "" if run.init.fresh else self.paths.backbone(backbone_id(run.init))
