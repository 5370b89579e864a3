"""Pages in Chromium: their titles, and accessibility errors of axe-core."""

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
# Serious violations that axe-core finds: rule, description and first places.
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
    """Open a page in Chromium and return the title."""
    shown = opened(file, *words, "--dump-dom", file.as_uri() + address)
    return json.loads(unescape(re.search("<title>(.*?)</title>", shown, re.DOTALL)[1]))


def opened(file, *words):
    """Return Chromium's output for a page."""
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={file.parent}/profile"]
    done = ran(BROWSER, *options, *words, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def faults() -> str:
    """Return the scripts that write a page's violations to its title."""
    return f"<script>{AXE.read_text(encoding='utf-8')}</script>{CHECK}"
