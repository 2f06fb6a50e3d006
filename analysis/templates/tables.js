(() => {
  const units = {ms: 0.001, s: 1, min: 60, h: 3600, d: 86400};
  const key = cell => {
    const text = cell.textContent.trim().replace(/−/g, "-").replace(/^[<>] /, "");
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
    if (rows.length < 8) continue;
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "filter rows";
    filter.setAttribute("aria-label", "Filter rows: " + table.caption.textContent);
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(words);
    });
    table.parentElement.before(filter);
  }
  const closed = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open])")) { part.open = true; closed.push(part); }
  });
  addEventListener("afterprint", () => { for (const part of closed.splice(0)) part.open = false; });
})();
