(() => {
  const units = {ms: 0.001, s: 1, min: 60, h: 3600, d: 86400};
  const key = cell => {
    const text = cell.textContent.trim().replace(/−/g, "-").replace(/^[<>≥] /, "");
    if (text === "–" || text === "") return null;
    if (/^\d{4}-\d\d/.test(text)) return text;
    const times = /^(-?[\d.,]+) (ms|s|min|h|d)(?: ([\d.,]+) (s|min|h))?$/.exec(text);
    const number = word => parseFloat(word.replace(/,/g, ""));
    if (times) return number(times[1]) * units[times[2]] + (times[3] ? number(times[3]) * units[times[4]] : 0);
    return /^-?\d/.test(text) ? number(text) : text.toLowerCase();
  };
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  };
  const text = cell => cell.textContent.trim();
  const amount = /^−?[\d.,]+(?: (%|ms|s|min|h|d)(?: [\d.,]+ (?:s|min|h))?)?$/;
  const value = cell => {
    if (text(cell) === "–") return "";
    return cell.tagName === "TD" && amount.test(text(cell)) ? String(+key(cell).toPrecision(12)) : text(cell);
  };
  const title = (head, column, body) => {
    const unit = [...body.rows].map(row => amount.exec(text(row.cells[column]))?.[1]).find(unit => unit);
    return (text(head) || "name") + (!unit || column === 0 ? "" : unit === "%" ? " (%)" : " (s)");
  };
  const save = table => {
    const body = table.tBodies[0], rows = [...body.rows].filter(row => !row.hidden);
    const heads = [...table.tHead.rows[0].cells].map((head, column) => title(head, column, body));
    const quoted = word => /[",\n]/.test(word) ? `"${word.replace(/"/g, '""')}"` : word;
    const lines = [heads, ...rows.map(row => [...row.cells].map(value))].map(line => line.map(quoted).join(",") + "\n");
    const link = document.createElement("a");
    link.download = table.id.replace("table-", "") + ".csv";
    link.href = "data:text/csv;charset=utf-8," + encodeURIComponent(lines.join(""));
    link.click();
  };
  const field = (placeholder, label, listener) => {
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = placeholder;
    input.setAttribute("aria-label", label);
    input.addEventListener("input", listener);
    return input;
  };
  const words = input => input ? input.value.trim().toLowerCase() : "";
  const contains = (part, words) => part.textContent.toLowerCase().includes(words);
  const fields = new Map();
  const filterRows = table => {
    for (const row of table.tBodies[0].rows)
      row.hidden = !contains(row, words(fields.get(table))) || !contains(row, words(whole));
  };
  const unfolded = [];
  const unfold = () => {
    for (const part of document.querySelectorAll("details:not([open])")) { part.open = true; unfolded.push(part); }
  };
  const fold = () => { if (!words(whole)) for (const part of unfolded.splice(0)) part.open = false; };
  const main = document.querySelector("main"), state = document.createElement("p");
  const whole = field("filter the page", "Show only findings and rows that contain", () => {
    const wanted = words(whole);
    if (wanted) unfold(); else fold();
    main.querySelectorAll("table").forEach(filterRows);
    const keep = (parts, kept) => { for (const part of main.querySelectorAll(parts)) part.hidden = wanted !== "" && !kept(part); };
    keep(".ranked > li, dd", part => contains(part, wanted));
    keep("dt", part => !part.nextElementSibling.hidden);
    keep("figure, .gaps, h3:has(+ .gaps)", () => false);
    keep(".table", part => part.querySelector("tbody tr:not([hidden])"));
    keep("section + section", part => part.querySelector(".table:not([hidden])"));
    for (const link of document.querySelectorAll("nav a"))
      link.parentElement.hidden = document.querySelector(link.hash).hidden;
    const count = parts => main.querySelectorAll(parts).length.toLocaleString("en");
    state.textContent = wanted && `Only what contains “${whole.value.trim()}”. Findings: ${count(".ranked > li:not([hidden])")}; rows: ${count("tbody tr:not([hidden])")}.`;
  });
  state.setAttribute("role", "status");
  document.querySelector("header").append(state);
  document.querySelector("nav")?.prepend(whole);
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      if (!button.textContent.trim()) button.setAttribute("aria-label", "name of the row");
      head.append(button);
      button.addEventListener("click", () => {
        const state = {none: "descending", descending: "ascending", ascending: "none"}[head.getAttribute("aria-sort") || "none"];
        heads.forEach(other => other.removeAttribute("aria-sort"));
        const sign = state === "descending" ? -1 : 1;
        const keys = new Map(rows.map(row => [row, key(row.cells[column])]));
        const sorted = state === "none" ? rows : [...rows].sort((a, b) => {
          const order = compare(keys.get(a), keys.get(b));
          return keys.get(a) === null || keys.get(b) === null ? order : sign * order;
        });
        if (state !== "none") head.setAttribute("aria-sort", state);
        body.append(...sorted);
      });
    });
    const name = table.caption.textContent, box = table.parentElement;
    const csv = document.createElement("button");
    csv.type = "button";
    csv.className = "csv";
    csv.textContent = "CSV";
    csv.setAttribute("aria-label", "CSV of the rows shown: " + name);
    csv.addEventListener("click", () => save(table));
    box.before(csv);
    if (rows.length < 8) continue;
    fields.set(table, field("filter rows", "Filter rows: " + name, () => filterRows(table)));
    box.before(fields.get(table));
  }
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", fold);
})();
