"""Pages in Chromium: titles, and accessibility errors found by axe-core."""

import json
import re
import shutil
from html import unescape

import pytest
from places import ROOT
from snakemake_runs import ran

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = ROOT / "build" / "node_modules" / "axe-core" / "axe.min.js"
with_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
with_axe = pytest.mark.skipif(
    BROWSER is None or not AXE.is_file(), reason="no Chromium here, or no axe-core: make axe"
)
# Serious violations found by axe-core: rule, description and the first places.
CHECK = """
<script>
axe.run({ resultTypes: ["violations"] }).then(function (found) {
  document.title = JSON.stringify(found.violations.filter(function (one) {
    return one.impact === "serious" || one.impact === "critical";
  }).map(function (one) {
    return [one.id, one.help].concat(one.nodes.slice(0, 3).map(function (node) { return node.html.slice(0, 200); }));
  }));
});
</script>
"""


def title_of(file, *words, address=""):
    """Open a page in Chromium and return the title.

    Args:
        file: Path of the page.
        words: Further options of Chromium.
        address: Suffix of the URL, such as "#id". Default: an empty string.
    """
    shown = opened(file, *words, "--dump-dom", file.as_uri() + address)
    return json.loads(unescape(re.search("<title>(.*?)</title>", shown, re.DOTALL)[1]))


def opened(file, *words):
    """Return Chromium's output for a page.

    Args:
        file: Path of the page. Chromium's profile is created in the same folder.
        words: Further options of Chromium, and the URL.
    """
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={file.parent}/profile"]
    done = ran(BROWSER, *options, *words, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def faults() -> str:
    """Return the scripts that write the violations of a page to the title."""
    return f"<script>{AXE.read_text(encoding='utf-8')}</script>{CHECK}"
