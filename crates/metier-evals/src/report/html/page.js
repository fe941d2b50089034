"use strict";
// The filter over the rows of cases, and the timelines of a case's trials, made when it is opened. Text from results
// only ever becomes a text node.
(() => {
  const byId = (id) => document.getElementById(id);
  const rows = Array.from(document.querySelectorAll("tr.case"));
  const texts = rows.map((row) => row.textContent.toLowerCase());

  let trialsOfCase = null;
  const trials = (at) => {
    if (!trialsOfCase) {
      trialsOfCase = new Map();
      for (const trial of JSON.parse(byId("trials").textContent)) {
        if (!trialsOfCase.has(trial.case)) trialsOfCase.set(trial.case, []);
        trialsOfCase.get(trial.case).push(trial);
      }
    }
    return trialsOfCase.get(at) || [];
  };

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const timeline = (trial) => {
    const list = element("ol", "timeline");
    for (const load of trial.loaded.filter((load) => load.step === 0)) {
      const item = element("li", "", `loaded before the first turn: ${load.skill}`);
      item.value = 0;
      list.append(item);
    }
    for (const action of trial.actions.filter((action) => action.step > 0)) {
      const item = element("li", action.ok ? "" : "failed");
      item.value = action.step;
      item.append(`${action.inner ? "subagent: " : ""}${action.action} ${action.target}`);
      if (action.args) item.append(" ", element("span", "quiet", action.args));
      if (!action.ok) item.append(" ", element("span", "no", action.code || "failed"));
      list.append(item);
    }
    if (trial.more_actions) list.append(element("li", "quiet", `and ${trial.more_actions} more`));
    return list;
  };

  const verdicts = (trial) => {
    const list = element("ul");
    for (const one of trial.triggers) {
      const right = one.expected === one.loaded;
      const said = `${one.skill}: ${one.loaded ? "loaded" : "not loaded"}, ` +
        (right ? "as it should be" : one.expected ? "and should be" : "and should not be");
      list.append(element("li", right ? "" : "failed", one.instead ? `${said}; first: ${one.instead}` : said));
    }
    for (const check of trial.checks) {
      const found = check.detail ? `: ${check.detail}` : "";
      const step = check.step ? ` (step ${check.step})` : "";
      const words = `${check.kind}: ${check.name}: ${check.outcome.replace("_", " ")}${found}${step}`;
      list.append(element("li", check.outcome === "passed" ? "" : "failed", words));
    }
    return list;
  };

  const show = (trial) => {
    const colour = { passed: "good", "nothing judged": "quiet" }[trial.outcome] || "bad";
    const box = element("div", `trial ${colour}`);
    box.append(element("h3", "", `arm ${trial.arm}, trial ${trial.trial + 1}: ${trial.outcome}`));
    const end = trial.end.error ? `${trial.end.error}: ${trial.end.message}` : `ended ${trial.end.status}`;
    const cost = `${trial.tokens_in} + ${trial.tokens_out} tokens, ${trial.model_calls} model and ` +
      `${trial.tool_calls} tool calls`;
    const time = trial.elapsed_ms === undefined ? "" : `, ${trial.elapsed_ms} ms`;
    const run = trial.run ? `, run ${trial.run}` : "";
    box.append(element("p", "quiet", `${end}; ${cost}${time}${run}`), timeline(trial), verdicts(trial));
    if (trial.answer) box.append(element("pre", "answer", trial.answer));
    return box;
  };

  const close = (row) => {
    const next = row.nextElementSibling;
    if (next && next.classList.contains("opened")) next.remove();
    row.querySelector("button").setAttribute("aria-expanded", "false");
  };

  const open = (row) => {
    const opened = element("tr", "opened");
    const cell = element("td");
    cell.colSpan = row.children.length;
    const found = trials(Number(row.dataset.case));
    found.forEach((trial) => cell.append(show(trial)));
    if (!found.length) cell.append(element("p", "quiet", "No timeline is in this page."));
    opened.append(cell);
    row.after(opened);
    row.querySelector("button").setAttribute("aria-expanded", "true");
  };

  const filter = () => {
    const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcome = byId("outcome").value;
    const skill = byId("skill").value;
    let shown = 0;
    rows.forEach((row, at) => {
      const fits = (!outcome || row.dataset.outcome === outcome) && (!skill || row.dataset.skill === skill) &&
        words.every((word) => texts[at].includes(word));
      if (!fits) close(row);
      row.hidden = !fits;
      shown += fits;
    });
    byId("shown").textContent = `${shown} of ${rows.length} shown`;
  };

  byId("rows").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const row = button.closest("tr.case");
    if (button.getAttribute("aria-expanded") === "true") close(row);
    else open(row);
  });
  byId("filter").addEventListener("input", filter);
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
