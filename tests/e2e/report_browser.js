// What a person would do in a report, one after the other; what is seen goes into the title.
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
seen.links = Array.from(panel.querySelectorAll("a")).map(function (a) { return a.getAttribute("href"); });
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
field.value = "";
field.dispatchEvent(new Event("input"));
var table = document.querySelector("#simcse-table3 table"), head = table.querySelector("thead button");
function labels() { return Array.from(table.tBodies[0].rows).map(function (row) { return row.cells[0].textContent; }); }
var before = labels().join();
head.click();
seen.sorted = labels().slice(0, 3);
head.click();
head.click();
seen.restored = labels().join() === before;
document.title = JSON.stringify(seen);
