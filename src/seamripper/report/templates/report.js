"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // ---- what is told of a mark

  const told = document.getElementById("told");
  const tell = (mark, x, y) => {
    told.textContent = mark.dataset.told;
    told.hidden = false;
    const box = told.getBoundingClientRect();
    told.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    told.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + "px";
  };
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest("[data-told]");
    if (mark) tell(mark, event.clientX, event.clientY);
    else told.hidden = true;
  });
  document.addEventListener("focusin", (event) => {
    const mark = event.target.closest("[data-told]");
    if (!mark) { told.hidden = true; return; }
    const box = mark.getBoundingClientRect();
    tell(mark, box.right, box.bottom);
  });
  addEventListener("scroll", () => { told.hidden = true; }, { passive: true });

  // ---- cells of matrices: one tab stop each matrix, arrows within

  const dialog = document.getElementById("pair");
  const open = (key) => {
    const pair = data.details[key];
    if (!pair) return;
    dialog.querySelector("h3").textContent = pair.title;
    dialog.querySelector("tbody").replaceChildren(...pair.rows.map((row) => {
      const line = document.createElement("tr");
      line.append(...row.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
      return line;
    }));
    told.hidden = true;
    dialog.showModal();
  };
  const move = (cell, right, down) => {
    const [i, j] = cell.dataset.pair.split("-").slice(-2).map(Number);
    const start = cell.dataset.pair.split("-").slice(0, -2).join("-");
    const next = cell.ownerSVGElement.querySelector(`[data-pair="${CSS.escape(`${start}-${i + down}-${j + right}`)}"]`);
    if (!next) return;
    cell.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  };
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-pair]");
    if (cell) open(cell.dataset.pair);
  });
  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest("[data-pair]");
    if (!cell) return;
    if (event.key === "Enter" || event.key === " ") open(cell.dataset.pair);
    else if (event.key in arrows) move(cell, ...arrows[event.key]);
    else return;
    event.preventDefault();
  });

  // ---- what was chosen stands in the address: #figure?switch=value

  const parts = () => {
    const [anchor, query] = location.hash.slice(1).split("?");
    return [decodeURIComponent(anchor || ""), new URLSearchParams(query || "")];
  };
  let [, chosen] = parts();
  const remember = (name, value, usual = "") => {
    if (value === usual) chosen.delete(name);
    else chosen.set(name, value);
    write(parts()[0]);
  };
  const write = (anchor) => {
    const query = chosen.toString();
    history.replaceState(null, "", "#" + encodeURIComponent(anchor) + (query ? "?" + query : ""));
  };
  addEventListener("hashchange", () => {
    const [anchor, given] = parts();
    // A link to a figure keeps what was chosen.
    if (given.size) { chosen = given; restore(); } else write(anchor);
  });

  // ---- switches

  const switches = all("select[data-tag]").map((select) => {
    const form = select.form, section = document.getElementById(form.dataset.for);
    const apply = () => {
      const wanted = all("select", form).map((one) => [one.dataset.tag, one.value]);
      for (const figure of all("figure.grid", section))
        figure.hidden = wanted.some(([tag, value]) => value && figure.dataset[tag] !== value);
    };
    const name = `${form.dataset.for}.${select.dataset.tag}`, usual = select.value;
    select.addEventListener("change", () => { apply(); remember(name, select.value, usual); });
    return () => { select.value = chosen.get(name) ?? usual; apply(); };
  });

  // ---- tables: sorted, filtered

  const number = (cell) => "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
  const sorted = (table, k, up) => {
    all("th", table.tHead).forEach((head, n) => {
      if (n === k) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    const rows = [...table.tBodies[0].rows].map((row) => [number(row.cells[k]), row]);
    rows.sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
      return up ? order : -order;
    });
    table.tBodies[0].replaceChildren(...rows.map(([, row]) => row));
  };
  const tables = all("table.sortable").map((table) => {
    const figure = table.closest("figure"), filter = figure.querySelector("[data-filter]");
    all("th button", table.tHead).forEach((button, k) => button.addEventListener("click", () => {
      const up = button.parentNode.getAttribute("aria-sort") !== "ascending";
      sorted(table, k, up);
      remember(`${figure.id}.sort`, `${up ? "" : "-"}${k}`);
    }));
    const apply = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let seen = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        seen += !row.hidden;
      }
      figure.querySelector(".count").textContent = words.length ? `${seen} of ${table.tBodies[0].rows.length}` : "";
    };
    if (filter) filter.addEventListener("input", () => { apply(); remember(`${figure.id}.filter`, filter.value); });
    return () => {
      const sort = chosen.get(`${figure.id}.sort`);
      if (sort) sorted(table, Math.abs(Number(sort)), !sort.startsWith("-"));
      if (filter) { filter.value = chosen.get(`${figure.id}.filter`) ?? ""; apply(); }
    };
  });

  // ---- figures as files

  const save = (name, blob) => {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const csv = (figure) => {
    const table = figure.querySelector("table.sortable");
    const rows = table
      ? [[...table.tHead.rows[0].cells].map((cell) => cell.textContent),
         ...[...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => [...row.cells].map((cell) => cell.dataset.value ?? cell.textContent))]
      : [data.tables[figure.id][0], ...data.tables[figure.id][1]];
    const field = (value) => value === null ? "" : /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
    return new Blob([rows.map((row) => row.map(field).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" });
  };
  const svg = (figure) => {
    // The figure alone: its style with it, its title above, its legend below, in the colours of this ground.
    const shown = all(".scroll > svg.seam", figure).find((one) => one.getBoundingClientRect().width) ?? figure.querySelector("svg.seam");
    const copy = shown.cloneNode(true), box = shown.viewBox.baseVal, legend = all("ul.legend li", figure).filter((li) => li.offsetParent);
    const root = getComputedStyle(document.documentElement);
    const colours = ["ink", "faint", "rule", "ground"].map((name) => `--${name}: ${root.getPropertyValue("--" + name)};`).join(" ");
    const make = (tag, attributes, text = "") => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      element.textContent = text;
      return element;
    };
    const style = make("style", {}, `svg { ${colours} background: var(--ground); }\n${document.querySelector("style").textContent.split("\n").filter((rule) => rule.startsWith(".seam")).join("\n")}`);
    const title = make("text", { class: "title", x: 8, y: -10, "font-weight": "bold" }, figure.querySelector("figcaption").firstChild.textContent.trim());
    const entries = legend.flatMap((li, k) => {
      const mark = li.querySelector("svg").cloneNode(true);
      for (const [name, value] of Object.entries({ x: 8, y: box.height + 8 + 18 * k, width: 30, height: 14 })) mark.setAttribute(name, value);
      return [mark, make("text", { class: "tick", x: 46, y: box.height + 19 + 18 * k }, li.textContent)];
    });
    copy.prepend(style, title);
    copy.append(...entries);
    const height = box.height + 30 + 18 * legend.length;
    for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", viewBox: `0 -28 ${box.width} ${height}`, width: box.width, height })) copy.setAttribute(name, value);
    copy.removeAttribute("style");
    return [new XMLSerializer().serializeToString(copy), box.width, height];
  };
  const png = ([text, width, height], name) => {
    const image = new Image(), canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
    image.onload = () => {
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(name, blob));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-save]");
    if (!button) return;
    const figure = button.closest("figure"), kind = button.dataset.save;
    if (kind === "csv") save(`${figure.id}.csv`, csv(figure));
    else if (kind === "svg") save(`${figure.id}.svg`, new Blob([svg(figure)[0]], { type: "image/svg+xml" }));
    else png(svg(figure), `${figure.id}.png`);
  });

  // ---- the page itself

  // What is folded on the screen is not missing on paper.
  addEventListener("beforeprint", () => all("details.folded").forEach((part) => { part.open = true; }));
  document.getElementById("ground").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.ground ? root.dataset.ground === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.ground = dark ? "light" : "dark";
    remember("ground", root.dataset.ground);
  });
  const restore = () => {
    if (chosen.get("ground")) document.documentElement.dataset.ground = chosen.get("ground");
    for (const apply of [...switches, ...tables]) apply();
    const place = document.getElementById(parts()[0]);
    if (place && chosen.size) place.scrollIntoView();
  };
  restore();
  document.documentElement.dataset.ready = "yes";
})();
