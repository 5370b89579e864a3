"""What a results folder holds by its own record, and the names of the committed studies."""

import atexit
import logging
import shutil
import tempfile
from pathlib import Path

from replicse.archives import unpack_crate
from replicse.errors import BadInput, MissingData, nearest
from replicse.files import read_json
from replicse.registry.artefacts import CONFIG, STUDY
from replicse.registry.digests import digest
from replicse.study.paper.config import checked_config
from replicse.study.plan.paths import Paths
from replicse.study.results.record import StudyRecord
from replicse.study.results.table import ItemResult
from replicse.workspace import packaged

LOG = logging.getLogger(__name__)
# Studies of crates that this process has opened, by the crate's file.
_OPENED: dict[str, Paths] = {}


def record_of(folder: Path) -> Path:
    """Return the record of a results folder, the `config.json` in it; MissingData where one of them is absent."""
    if not folder.is_dir():
        raise MissingData(f"{folder}: no such folder; name the results of a scale, such as results/micro")
    record = folder / CONFIG
    if not record.is_file():
        raise MissingData(f"{record}: no such file; run an item, or the study to its report")
    return record


def held(folder: Path) -> list[ItemResult]:
    """Return the results of a folder's items that were made with its record, the `config.json` in it.

    An item of another study is left out, and one that was tabulated with another config with a warning. Raises
    MissingData where there is no folder, no record or no item.
    """
    record = record_of(folder)
    config = checked_config(read_json(record), str(record))
    results = []
    for file in sorted(folder.glob("items/*/*.json")):
        if config.holds(f"{file.parent.name}/{file.stem}"):
            result = ItemResult.of(read_json(file), str(file))
            if result.scale != config.scale:
                raise BadInput(
                    f"{file}: scale is {result.scale}, in {record} {config.scale}; delete it and run the item again"
                )
            # Items of earlier versions do not say what they were made with.
            if result.config in ("", digest(config.bearing_on(result.item))):
                results.append(result)
            else:
                LOG.warning("%s is left out: it was not made with %s; run the item again", file, record)
    if not results:
        raise MissingData(
            f"{folder / 'items'}: no item of {record} in it; run an item, or the study to its report"
        )
    return results


def committed() -> dict[str, Paths]:
    """Return the paths of the committed studies by name: those of the package, and of this folder in their place."""
    studies: dict[str, Paths] = {}
    for home in (f"{packaged('reports').parent}/", ""):
        files = sorted(Path(home, "reports", "studies").glob(f"*/{CONFIG}"))
        studies |= {file.parent.name: Paths("", file.parent.name, home=home) for file in files}
    return studies | _OPENED


def opened(file: Path) -> Paths:
    """Return the paths of the study in a crate, which is unpacked for as long as this process lives.

    Raises BadInput for what is no crate of one study, or holds a config, a record or an item that is broken.
    """
    if str(file) not in _OPENED:
        folder = Path(tempfile.mkdtemp(prefix="replicse-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        unpack_crate(file, folder)
        configs = sorted(folder.glob(f"reports/studies/*/{CONFIG}"))
        if len(configs) != 1:
            raise BadInput(f"{file}: {len(configs)} studies in it; expected one, as replicse pack writes it")
        paths = Paths("", configs[0].parent.name, home=f"{folder}/")
        try:
            StudyRecord.of(read_json(paths.study), STUDY)
            held(Path(paths.results))
        except BadInput as error:
            raise BadInput(f"{file}: {str(error).replace(f'{folder}/', '')}") from None
        _OPENED[str(file)] = paths
    return _OPENED[str(file)]


def study_folder(name: str) -> Path:
    """Return a results folder as it is given, or that of a committed study by its name; BadInput names the nearest."""
    if Path(name).suffix == ".zip" and not Path(name).is_dir():
        return Path(opened(Path(name)).results)
    if Path(name).is_dir() or Path(name).name != name:
        return Path(name)
    if name not in (studies := committed()):
        raise BadInput(f'"{name}" is no results folder and no committed study{nearest(name, studies)}')
    return Path(studies[name].results)
