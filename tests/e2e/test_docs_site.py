"""The documentation site as a browser shows it."""

import subprocess
import sys

import pytest
from browser import faults, title_of, with_axe
from places import CHECKOUT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    words = ["build", "--quiet", "--config-file", str(CHECKOUT / "mkdocs.yml"), "--site-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "mkdocs", *words], cwd=CHECKOUT, check=True)
    return folder


@with_axe
@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "causes", "cli", "api", "studies/compact"])
def test_no_page_of_the_site_has_a_serious_fault_of_accessibility(site, name, mode):
    text = (site / f"{name}.html").read_text(encoding="utf-8")
    # Once the theme has chosen its colours; a colour that is still changing would be measured on its way.
    still = "<style>* { transition: none !important; }</style>"
    script = f"""{still}<script>document.documentElement.dataset.bsTheme = "{mode}";</script>{faults()}"""
    file = (site / name).with_name(f"{mode}.html")
    file.write_text(text.replace("</body>", f"{script}</body>"), encoding="utf-8")
    assert title_of(file, "--virtual-time-budget=60000", "--window-size=1440,900") == []
