"""A paper's page in a browser: by keyboard a cell's panel is opened, its command copied, the rows filtered."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from golden import example_report as example

from replicse.report.content.contents import make_report
from replicse.report.formats import html

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# What a person would do, one after the other; what is seen goes into the title.
ACTS = """
<script>
var seen = {}, copied = null;
Object.defineProperty(navigator, "clipboard", { value: undefined });
document.execCommand = function () { copied = document.activeElement.value; };
function key(name) {
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
}
var panel = document.getElementById("panel"), cell = document.getElementById("simcse-table3--p0.1--stsb-dev");
cell.focus();
seen.tip = getComputedStyle(cell.querySelector(".tip")).display;
key("Enter");
seen.open = !panel.hidden;
seen.panel = panel.textContent;
seen.hash = location.hash;
Array.from(panel.querySelectorAll("button")).filter(function (b) { return b.textContent === "Copy"; })[0].click();
seen.copied = copied;
key("Escape");
seen.closed = panel.hidden && document.activeElement === cell;
var field = document.querySelector(".filter input");
field.value = "0.15";
field.dispatchEvent(new Event("input"));
seen.rows = Array.from(document.querySelectorAll("tr.line")).filter(function (row) {
  return !row.hidden && !row.closest("article").hidden;
}).length;
document.title = JSON.stringify(seen);
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_cell_is_reached_and_its_command_copied_by_keyboard(tmp_path):
    items = [example.dropout_table(), example.sts_table()]
    report = make_report(example.STUDY, items)
    text = html.paper(report, report.sections[0], {item.item: "" for item in items})
    file = tmp_path / "simcse.html"
    file.write_text(text.replace("</body>", f"{ACTS}</body>"), encoding="utf-8")
    words = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
        "--dump-dom",
    ]
    done = subprocess.run(
        [BROWSER, *words, file.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    seen = json.loads(unescape(re.search("<title>(.*?)</title>", done.stdout, re.DOTALL)[1]))
    assert seen["tip"] == "grid" and seen["open"] and seen["closed"]
    assert "82.5 (Table 3" in seen["panel"] and seen["hash"] == "#simcse-table3--p0.1--stsb-dev"
    assert seen["copied"] == "replicse why simcse/table3/p0.1/stsb-dev --scale paper"
    assert seen["rows"] == 1
