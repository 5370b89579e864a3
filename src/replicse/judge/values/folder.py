"""Results folders: loading of their items, and the committed studies."""

import logging
import zipfile
from pathlib import Path

from replicse.compile.paths import Paths
from replicse.compile.record_study import RECORD
from replicse.compile.specifications import changes_in_folder, describe_outdated, describe_unloaded
from replicse.errors import BadInput, MissingData, check_known, refusing
from replicse.files import read_json
from replicse.judge.verdicts.table import ItemResult
from replicse.registry.artefacts import CONFIG
from replicse.spec.config import Config, use_all_plugins
from replicse.workspace import packaged

LOG = logging.getLogger(__name__)


def record_of(folder: Path) -> Path:
    """Return the path of the record `config.json` of a results folder.

    Raises:
        MissingData: if the folder or the record does not exist.
    """
    if not folder.is_dir():
        raise MissingData(f"{folder} does not exist; specify the results of a scale, such as results/micro")
    record = folder / CONFIG
    if not record.is_file():
        raise MissingData(f"{record} does not exist; run an item, or the whole study")
    return record


def results_in(folder: Path) -> list[ItemResult]:
    """Load the items of a results folder.

    Items that do not belong to the study of the folder's record are skipped. A warning names items that are out of
    date.

    Args:
        folder: the results of a scale or of a committed study.

    Raises:
        MissingData: if the folder, its record or all items are missing.
        BadInput: if a file is broken, or if an item has another scale than the record.
    """
    record = record_of(folder)
    # Plug-ins of the record are not loaded, because the folder can be from somebody else.
    use_all_plugins()
    config = Config.of(read_json(record), str(record))
    results = []
    for file in sorted(folder.glob("items/*/*.json")):
        if config.holds(f"{file.parent.name}/{file.stem}"):
            result = ItemResult.read(file)
            if result.scale != config.scale:
                raise BadInput(
                    f"{file}: scale is {result.scale}, but {config.scale} in {record}; delete the file and run the item"
                    " again"
                )
            results.append(result)
    if not results:
        raise MissingData(
            f"{folder / 'items'} does not contain an item of {record}; run an item, or the whole study"
        )
    changes, plugins = changes_in_folder(folder, [result.item for result in results])
    for sentence in (*describe_outdated(changes), *describe_unloaded(plugins)):
        LOG.warning("%s", sentence)
    return results


def unpack_crate(crate: Path, scratch: Path) -> Path:
    """Unpack the committed study of a crate and return the folder.

    Args:
        crate: the zip file.
        scratch: the folder to unpack it to.

    Raises:
        BadInput: if the file contains no study.
    """
    with refusing(f"{crate}: not a crate", "write it with replicse keep NAME --crate FILE.zip"):
        with zipfile.ZipFile(crate) as archive:
            archive.extractall(scratch, [name for name in archive.namelist() if name.startswith("reports/")])
        (record,) = scratch.glob(f"reports/studies/*/{CONFIG}")
    return record.parent


def committed() -> dict[str, Paths]:
    """Return the paths of the committed studies by name.

    A study of the current folder replaces a study of the package with the same name. The record is not included,
    because its numbers were not run here.
    """
    studies: dict[str, Paths] = {}
    for home in (f"{packaged('reports').parent}/", ""):
        files = sorted(Path(home, "reports", "studies").glob(f"*/{CONFIG}"))
        for file in files:
            studies[file.parent.name] = Paths("", file.parent.name, home=home)
    studies.pop(RECORD, None)
    return studies


def study_folder(name: str) -> Path:
    """Return a results folder by path, or a committed study by name.

    Args:
        name: the path or the name.

    Raises:
        BadInput: if there is no such study; the message contains the nearest name.
    """
    if Path(name).is_dir() or Path(name).name != name:
        return Path(name)
    studies = committed()
    check_known(name, studies, f'"{name}" is neither a results folder nor a committed study')
    return Path(studies[name].results)
