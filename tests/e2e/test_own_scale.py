"""A user's scale is added to the packaged scales.

All scales are planned. A name that only a single scale defines is not a mistake.
"""

import json

import pytest
import yaml
from made_up import write_paper
from read_once import papers_read_once

from replicse.cli import main

pytestmark = pytest.mark.usefixtures("papers_read_once")
__all__ = ["papers_read_once"]


def test_a_backbone_of_ones_own_scale_is_no_mistake_at_others_and_its_folder_is_needed(
    workspace, capsys, monkeypatch
):
    """A backbone is only required at the scale that defines it.

    `validate` once stopped at the first packaged scale. A missing folder was only reported by a job, and the
    cost was `?`.
    """
    for folder in ("scales", "given/models/mine"):
        (workspace / folder).mkdir(parents=True)
    row = {"id": "own", "label": "Own", "encoder": {"use": "own"}}
    column = {"id": "stsb", "label": "STS-B", "metric": "spearman", "metric_path": "sts/STS-B/all"}
    recipe = {"like": "simcse/unsup", "init": {"backbone": "mine"}}
    write_paper(workspace, "mine", {"table1": {"columns": [column], "rows": [row]}}, recipes={"own": recipe})
    own = {"extends": "compact", "name": "own", "backbones": {"mine": {"folder": "models/mine"}}}
    (workspace / "scales" / "own.yaml").write_text(yaml.safe_dump(own))
    (workspace / "given/models/mine/config.json").write_text('{"num_hidden_layers": 2, "hidden_size": 32}')
    monkeypatch.setenv("REPLICSE_DATA", str(workspace / "given"))
    assert main(["validate"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("ok: 1 paper, 1 item, 0 cells, 0 runs, 0 claims")
    assert (
        "mine/table1 does not have an encoder at compact, micro, minilm, paper, short" in told
        and "use it at scale own" in told
    )
    assert main(["plan", "simcse/table3", "--scale", "compact"]) == 0
    assert main(["run", "-n", "mine/table1", "--scale", "compact"]) == 2
    assert 'do not contain "mine"; use it at scale own' in capsys.readouterr().err
    assert main(["plan", "mine/table1", "--scale", "own", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hours"] > 0
    (workspace / "given/models/mine").rename(workspace / "given/models/ours")
    folder = f"{workspace}/given/models/mine"
    absent = f"encoder folder {folder} does not exist; put it there, or correct backbones.mine.folder"
    assert main(["run", "-n", "mine", "--scale", "own"]) == 2 and absent in capsys.readouterr().err
    (workspace / "scales" / "own.yaml").write_text(yaml.safe_dump({**own, "backbones": {}}))
    assert main(["plan", "mine/table1", "--scale", "own"]) == 2
    assert 'do not contain "mine"; known: ' in capsys.readouterr().err
