"use strict";
(() => {
  const told = document.getElementById("told");
  const place = (x, y) => {
    const box = told.getBoundingClientRect();
    told.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    told.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + "px";
  };
  const tell = (mark, x, y) => {
    told.textContent = mark.dataset.told;
    told.hidden = false;
    place(x, y);
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

  const details = JSON.parse(document.getElementById("details").textContent);
  const dialog = document.getElementById("pair");
  const open = (key) => {
    const pair = details[key];
    if (!pair) return;
    dialog.querySelector("h3").textContent = pair.title;
    const body = dialog.querySelector("tbody");
    body.replaceChildren(...pair.rows.map((row) => {
      const line = document.createElement("tr");
      line.append(...row.map((text) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        return cell;
      }));
      return line;
    }));
    told.hidden = true;
    dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-pair]");
    if (cell) open(cell.dataset.pair);
  });
  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest("[data-pair]");
    if (cell && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); open(cell.dataset.pair); }
  });

  for (const form of document.querySelectorAll("form.switches")) {
    const section = document.getElementById(form.dataset.for);
    const choose = () => {
      const wanted = [...form.querySelectorAll("select")].map((one) => [one.dataset.tag, one.value]);
      for (const figure of section.querySelectorAll("figure.grid"))
        figure.hidden = wanted.some(([tag, value]) => value && figure.dataset[tag] !== value);
    };
    form.addEventListener("change", choose);
    choose();
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.querySelectorAll("th")];
    heads.forEach((head, k) => head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const value = (row) => { const cell = row.cells[k]; return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent; };
      const rows = [...body.rows].map((row) => [value(row), row]);
      const compare = ([a], [b]) => {
        if (a === "" || b === "") return (a === "") - (b === "");
        if (typeof a === "number" && typeof b === "number") return up ? a - b : b - a;
        return up ? String(a).localeCompare(String(b), undefined, { numeric: true }) : String(b).localeCompare(String(a), undefined, { numeric: true });
      };
      rows.sort(compare);
      body.replaceChildren(...rows.map(([, row]) => row));
    }));
  }

  const folded = [...document.querySelectorAll("details.folded")];
  // What is folded on the screen is not missing on paper.
  addEventListener("beforeprint", () => folded.forEach((part) => { part.open = true; }));

  const ground = document.getElementById("ground");
  ground.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.ground ? root.dataset.ground === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.ground = dark ? "light" : "dark";
  });
  document.documentElement.dataset.ready = "yes";
})();
