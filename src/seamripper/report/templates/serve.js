"use strict";
(() => {
  const body = document.querySelector("tbody"), said = document.getElementById("said");
  let shown = "", chosen = new Set();
  const made = (tag, text) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const row = run => {
    const line = made("tr"), name = made("td"), link = made("a", run.name), state = made("td", run.state);
    const choice = made("td"), box = made("input");
    for (const [key, value] of Object.entries({ type: "checkbox", name: "run", value: run.name + "?" + run.experiment, "aria-label": "Choose " + run.name + ", " + run.experiment })) box.setAttribute(key, value);
    box.checked = chosen.has(run.name + "?" + run.experiment);
    choice.append(box);
    link.setAttribute("href", run.url);
    name.append(link);
    state.className = run.state.split(" ").pop();
    if (run.note) { const note = made("span", run.note); note.className = "note"; state.append(note); }
    const progress = made("td"), bar = made("progress");
    bar.max = Math.max(run.asked, 1);
    bar.value = run.done;
    progress.append(bar, run.done + " of " + run.asked);
    line.append(choice, name, made("td", run.experiment), state, progress, made("td", run.started), made("td", run.engine));
    return line;
  };
  const look = async () => {
    try {
      const answer = await fetch("/runs.json");
      if (!answer.ok) throw new Error(answer.statusText);
      const text = await answer.text();
      if (text !== shown) {
        const runs = JSON.parse(text).runs;
        chosen = new Set([...document.querySelectorAll("input:checked")].map(box => box.value));
        body.replaceChildren(...runs.map(row));
        document.getElementById("none").hidden = runs.length > 0;
        shown = text;
      }
      said.textContent = "";
    } catch {
      said.textContent = "No answer: seamripper serve has ended, or is busy. What is shown is as it was.";
    }
    setTimeout(look, 2000);
  };
  setTimeout(look, 2000);
})();
