// The page contains all results without this script, which adds search, filters, sorting and a panel for cells.
(function () {
  "use strict";
  var panel = document.getElementById("panel"), main = document.querySelector("main"), origin = null;

  function all(what, place) { return Array.from((place || document).querySelectorAll(what)); }
  function made(kind, text) {
    var element = document.createElement(kind);
    element.textContent = text || "";
    return element;
  }
  function button(text, act) {
    var element = made("button", text);
    element.type = "button";
    element.addEventListener("click", act);
    return element;
  }

  function copied(text, place) {
    function done() { place.textContent = "copied"; }
    function plain() {
      var field = made("textarea");
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

  // The panel of a cell: value, difference and verdict, then the facts of the tooltip, the commands, and the paths.
  function add(name, text, address, place) {
    var line = made("div"), value = made("span", address ? "" : text);
    line.className = "fact";
    if (address) {
      value.appendChild(made("a", text)).href = address;
    }
    if (text.indexOf("replicse ") === 0) {
      value.append(" ", button("Copy", function () { copied(text, this); }));
    }
    line.append(made("b", name), value);
    (place || panel).appendChild(line);
    return line;
  }

  // The numbers of a cell as in the table, without the verdict in words.
  function shownIn(cell, parts) {
    return parts.map(function (part) {
      return all(part, cell).map(function (found) { return found.textContent.trim(); }).join(" ");
    }).filter(Boolean).join(" ");
  }

  function pin(cell) {
    var tip = cell.querySelector(".tip"), close = button("Close", unpin), root = main.dataset.root, runs = [];
    if (!tip) return;
    origin = cell;
    panel.textContent = "";
    close.className = "close";
    panel.appendChild(close);
    var caption = cell.closest("table").caption, run = cell.closest("article").querySelector(".run");
    var facts = all("b", tip).map(function (name) { return [name.textContent, name.nextSibling.textContent]; });
    function first(name, text) {
      if (text) add(name, text).classList.add("first");
    }
    first("value", shownIn(cell, [".reported", ".arrow", ".reproduced"]));
    first("difference", shownIn(cell, [".delta", ".wide", ".spread"]));
    facts.forEach(function (fact) { if (fact[0] === "verdict") first(fact[0], fact[1]); });
    if (caption) add("table", caption.textContent);
    facts.forEach(function (fact) {
      if (fact[0] !== "verdict") add(fact[0], fact[1]);
      if (fact[0] === "runs") runs = fact[1].replace(/ and .*/, "").split(", ");
    });
    if (run) add("run it", run.textContent);
    var paths = made("details");
    paths.appendChild(made("summary", "Links, logs and records"));
    all("a[data-fact]", main).forEach(function (link) {
      var article = link.closest("article"), address = link.getAttribute("href");
      if (!article || article.contains(cell)) add(link.dataset.fact, link.textContent[0] === "." ? address : link.textContent, address, paths);
    });
    if (main.dataset.log) runs.forEach(function (run) {
      [["log", main.dataset.log], ["record", main.dataset.record]].forEach(function (kind) {
        var path = kind[1].replace("RUN", run);
        add(kind[0], path, root && root + "/" + path, paths);
      });
    });
    if (runs.length && main.dataset.log) add("", "A record holds spec and provenance." + (root ? "" : " Logs and records are written when the study runs."), "", paths);
    if (paths.children.length > 1) panel.appendChild(paths);
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
    if (!target) return;
    var folded = target.closest("main details") || target.querySelector("section > details");
    if (folded) folded.open = true;
    if (!target.matches("td.cell")) return target.scrollIntoView();
    pin(target);
    // Scroll again, because elements that become visible change the layout.
    function centre() { target.scrollIntoView({ block: "center" }); }
    centre();
    requestAnimationFrame(function () { centre(); requestAnimationFrame(centre); });
  }
  window.addEventListener("hashchange", follow);
  follow();

  // The label of a row and the verdicts of its cells (their CSS classes), or all text of a plain table.
  function words(row) {
    return Array.from(row.cells).map(function (cell) {
      return cell.matches("td.cell") ? cell.className.replace(/-/g, " ") : cell.textContent;
    }).join(" ").replace(/\s+/g, " ").toLowerCase();
  }

  all(".filter").forEach(function (filter) {
    filter.hidden = false;
    filter.querySelector("input").addEventListener("input", function () {
      var wanted = this.value.trim().toLowerCase(), shown = 0;
      all("article, .page .shown").forEach(function (part) {
        var title = part.querySelector("h2"), whole = title && title.textContent.toLowerCase().indexOf(wanted) >= 0, any = whole;
        all("tr.line, .sheet tbody tr", part).forEach(function (row) {
          var fits = whole || words(row).indexOf(wanted) >= 0;
          row.hidden = !fits;
          any = any || fits;
          shown += fits ? 1 : 0;
        });
        part.hidden = !any;
      });
      filter.querySelector("[role=status]").textContent = wanted ? shown + " rows" : "";
    });
  });

  // Clicks on a heading sort ascending, then descending, then in the paper's order, within each group of rows.
  // Columns are sorted by our numbers if there are any.
  function value(cell, number, part) {
    var shown = part && cell.querySelector(part), text = part ? (shown ? shown.textContent : "") : cell.textContent;
    if (!number) return text;
    var read = parseFloat(text.replace(/\u2212/g, "-").replace(/,/g, ""));
    return isNaN(read) ? Infinity : read;
  }
  function blocks(body) {
    var parts = [[]];
    Array.from(body.rows).forEach(function (row) {
      if (row.matches(".heading, .rule")) parts.push([]);
      parts[parts.length - 1].push(row);
    });
    return parts;
  }
  all("table.sheet, table.grid").forEach(function (table) {
    var body = table.tBodies[0], order = Array.from(body.rows), parts = blocks(body);
    if (order.length < 3) return;
    all("thead th", table).forEach(function (head, place) {
      var number = head.matches(".number") || (table.matches(".grid") && place > 0 && !head.matches(".prose")), text = head.textContent;
      if (!text || head.querySelector(".unseen")) return;
      head.textContent = "";
      head.appendChild(button(text, function () {
        var was = head.getAttribute("aria-sort"), next = { ascending: "descending", descending: "" }[was];
        if (next === undefined) next = "ascending";
        all("th", table).forEach(function (other) { other.removeAttribute("aria-sort"); });
        if (next) head.setAttribute("aria-sort", next);
        if (!next) order.forEach(function (row) { body.appendChild(row); });
        var numbers = table.matches(".grid") && number && [".reproduced", ".reported"].filter(function (kind) {
          return order.some(function (row) { return row.cells[place] && value(row.cells[place], false, kind); });
        })[0];
        if (next) parts.forEach(function (part) {
          var groups = [], above = [];
          part.forEach(function (row) {
            if (row.matches(".heading")) above.push(row);
            else if (row.matches(".indent") && groups.length) groups[groups.length - 1].push(row);
            else groups.push([row]);
          });
          groups.sort(function (a, b) {
            var x = value(a[0].cells[place], number, numbers), y = value(b[0].cells[place], number, numbers);
            var before = number ? x - y || 0 : x.localeCompare(y);
            return next === "descending" && x !== Infinity && y !== Infinity ? -before : before;
          });
          above.concat.apply(above, groups).forEach(function (row) { body.appendChild(row); });
        });
      }));
    });
  });

  // Only report.html contains the index; the search fields of other pages open it.
  function search(text) {
    var hits = document.getElementById("hits"), list = hits.querySelector("ul"), found = [];
    var wanted = text.toLowerCase().replace(/\u2212/g, "-").split(/\s+/).filter(Boolean);
    // An entry is a text and a URL; a row also has the common prefix of the URLs of its cells and the rest by number.
    index.forEach(function (entry) {
      var printed = {}, fits = wanted.length && wanted.every(function (word) {
        if (entry[3] && /\d/.test(word)) Object.keys(entry[3]).forEach(function (number) {
          if (number.indexOf(word) === 0) printed[number] = entry[2] + entry[3][number];
        });
        return Object.keys(printed).length || entry[0].toLowerCase().indexOf(word) >= 0;
      });
      var numbers = Object.keys(printed);
      if (fits && !numbers.length) found.push(entry);
      if (fits) numbers.forEach(function (number) { found.push([entry[0] + ": " + number, printed[number]]); });
    });
    hits.hidden = !wanted.length;
    list.textContent = "";
    hits.querySelector("[role=status]").textContent = found.length + " found" + (found.length > 50 ? "; the first 50" : "");
    found.slice(0, 50).forEach(function (entry) {
      list.appendChild(made("li")).appendChild(made("a", entry[0])).href = entry[1];
    });
  }
  all("form.search").forEach(function (form) {
    var field = form.querySelector("input"), asked = new URLSearchParams(location.search).get("q");
    form.hidden = false;
    if (typeof index === "undefined") return;
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    field.addEventListener("input", function () { search(field.value); });
    if (asked) {
      field.value = asked;
      search(asked);
    }
  });

  if (window.matchMedia("(max-width: 66rem)").matches) {
    all("nav details").forEach(function (contents) { contents.open = false; });
  }
})();
