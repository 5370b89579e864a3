// Everything here is convenience: without it the page holds the same, offline.
(function () {
  "use strict";
  var panel = document.getElementById("panel"), origin = null;

  function copied(text, button) {
    function done() { button.textContent = "copied"; }
    function plain() {
      var field = document.createElement("textarea");
      field.value = text;
      document.body.appendChild(field);
      field.select();
      document.execCommand("copy");
      field.remove();
      done();
    }
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, plain);
    else plain();
  }

  function pin(cell) {
    var tip = cell.querySelector(".tip");
    if (!tip) return;
    origin = cell;
    panel.innerHTML = "";
    var close = document.createElement("button");
    close.type = "button";
    close.className = "close";
    close.textContent = "Close";
    close.addEventListener("click", unpin);
    panel.appendChild(close);
    function add(name, value) {
      var line = document.createElement("div"), text = value.textContent;
      line.className = "fact";
      line.append(name, value);
      if (text.indexOf("replicse ") === 0) {
        var button = document.createElement("button");
        button.type = "button";
        button.textContent = "Copy";
        button.addEventListener("click", function () { copied(text, button); });
        line.lastChild.append(" ", button);
      }
      panel.appendChild(line);
    }
    function made(kind, text) {
      var element = document.createElement(kind);
      element.textContent = text;
      return element;
    }
    tip.querySelectorAll("b").forEach(function (name) {
      add(name.cloneNode(true), name.nextSibling.cloneNode(true));
    });
    var run = cell.closest("article").querySelector(".run");
    if (run) add(made("b", "run it"), made("span", run.textContent));
    panel.hidden = false;
    document.body.classList.add("pinned");
    panel.focus();
    if (cell.id) history.replaceState(null, "", "#" + cell.id);
  }

  function unpin() {
    panel.hidden = true;
    document.body.classList.remove("pinned");
    if (origin) origin.focus();
    origin = null;
  }

  document.addEventListener("click", function (event) {
    var cell = event.target.closest && event.target.closest("td.cell");
    if (cell) pin(cell);
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape" && !panel.hidden) unpin();
    else if (event.key === "Enter" && event.target.matches && event.target.matches("td.cell")) {
      event.preventDefault();
      pin(event.target);
    }
  });
  function follow() {
    var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.matches("td.cell")) return;
    pin(target);
    // What comes on the screen is laid out then, which moves the rest: go there again.
    function centre() { target.scrollIntoView({ block: "center" }); }
    centre();
    requestAnimationFrame(function () { centre(); requestAnimationFrame(centre); });
  }
  window.addEventListener("hashchange", follow);
  follow();

  // A row's label and its cells' verdicts, which are their classes.
  function told(row) {
    return Array.from(row.cells).map(function (cell) {
      return cell.tagName === "TH" ? cell.textContent : cell.className.replace(/-/g, " ");
    }).join(" ").toLowerCase();
  }

  var filter = document.querySelector(".filter");
  if (filter) {
    filter.hidden = false;
    filter.querySelector("input").addEventListener("input", function () {
      var wanted = this.value.trim().toLowerCase(), shown = 0;
      document.querySelectorAll("article").forEach(function (article) {
        var whole = article.querySelector("h2").textContent.toLowerCase().indexOf(wanted) >= 0, any = whole;
        article.querySelectorAll("tr.line").forEach(function (row) {
          var fits = whole || told(row).indexOf(wanted) >= 0;
          row.hidden = !fits;
          any = any || fits;
          shown += fits ? 1 : 0;
        });
        article.hidden = !any;
      });
      filter.querySelector("[role=status]").textContent = wanted ? shown + " rows" : "";
    });
  }

  document.querySelectorAll("table.sheet").forEach(function (table) {
    var body = table.tBodies[0];
    if (body.rows.length < 4) return;
    table.querySelectorAll("thead th").forEach(function (head, place) {
      if (!head.textContent) return;
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending", number = head.classList.contains("number");
        table.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        Array.from(body.rows).sort(function (a, b) {
          var x = a.cells[place].textContent, y = b.cells[place].textContent;
          var order = number ? parseFloat(x.replace(",", "") || 0) - parseFloat(y.replace(",", "") || 0) : x.localeCompare(y);
          return down ? -order : order;
        }).forEach(function (row) { body.appendChild(row); });
      });
    });
  });

  if (window.matchMedia("(max-width: 66rem)").matches) {
    document.querySelectorAll("nav details").forEach(function (contents) { contents.open = false; });
  }
})();
