"""The documentation site in a browser."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import faults, title_of, with_axe, with_browser
from places import CHECKOUT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    words = ["build", "--quiet", "--config-file", str(CHECKOUT / "mkdocs.yml"), "--site-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "mkdocs", *words], cwd=CHECKOUT, check=True)
    return folder


@with_browser
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_reader_can_switch_between_light_and_dark(site, mode):
    chosen = "document.documentElement.dataset.bsTheme"
    script = (
        f"<script>addEventListener('load', function () {{ document.querySelector('[data-bs-theme-value={mode}]')"
        f".click(); document.title = JSON.stringify({chosen}); }});</script>"
    )
    file = site / "switch.html"
    file.write_text(
        (site / "index.html").read_text(encoding="utf-8").replace("</body>", f"{script}</body>"),
        encoding="utf-8",
    )
    assert title_of(file) == mode


@with_browser
def test_a_page_is_no_wider_than_a_narrow_window(site):
    wider = "document.title = document.documentElement.scrollWidth - innerWidth"
    file = site / "narrow.html"
    text = (site / "causes.html").read_text(encoding="utf-8")
    file.write_text(
        text.replace("</body>", f"<script>onload = () => {{ {wider} }}</script></body>"), encoding="utf-8"
    )
    assert title_of(file, "--window-size=390,800") <= 0


def test_the_site_holds_no_code(site):
    assert [*site.rglob("*.py"), *site.rglob("__pycache__")] == []


def test_no_id_of_a_page_stops_the_scripts_of_the_theme(site):
    """Ids of headings should be valid selectors.

    Bootstrap uses a selector to find each heading, and an id such as `1-install` is not valid in a selector.
    """
    pages = [*site.glob("*.html"), *site.glob("studies/*.html")]
    ids = {page.name: re.findall(r'<h\d id="(\d[^"]*)"', page.read_text(encoding="utf-8")) for page in pages}
    assert {name for name, found in ids.items() if found} <= {"404.html"}


def test_the_reports_of_the_site_link_to_files_that_are_there(site):
    for page in site.glob("reports/studies/*/*.html"):
        links = re.findall(r'href="(?!https?:)([^"#]+)', page.read_text(encoding="utf-8"))
        assert [link for link in links if not Path(page.parent, link).exists()] == []


@with_axe
@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "causes", "cli", "api", "studies/compact"])
def test_no_page_of_the_site_has_a_serious_fault_of_accessibility(site, name, mode):
    text = (site / f"{name}.html").read_text(encoding="utf-8")
    # Without transitions; otherwise half-way colours of the theme would be measured.
    still = "<style>* { transition: none !important; }</style>"
    script = f"""{still}<script>document.documentElement.dataset.bsTheme = "{mode}";</script>{faults()}"""
    file = (site / name).with_name(f"{mode}.html")
    file.write_text(text.replace("</body>", f"{script}</body>"), encoding="utf-8")
    assert title_of(file, "--virtual-time-budget=60000", "--window-size=1440,900") == []
