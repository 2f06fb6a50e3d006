(() => {
  const root = document.documentElement, css = name => getComputedStyle(root).getPropertyValue(name).trim();
  const colour = name => name.startsWith("--") ? css(name) : name;
  const short = (value, digits = 4) => value.toLocaleString("en", {maximumSignificantDigits: digits});
  const time = value => {
    for (const [unit, of] of [["d", 86400], ["h", 3600], ["min", 60]]) if (Math.abs(value) >= of) return short(value / of, 3) + " " + unit;
    return short(value, 3) + " s";
  };
  const written = (axis, value) => {
    if (value == null || !isFinite(value)) return "–";
    if (axis.form === "share") return short(100 * value) + " %";
    if (axis.form === "time") return time(value);
    if (axis.form === "date") return new Date(value * 864e5).toISOString().slice(0, 16).replace("T", " ");
    if (axis.form === "names" && axis.ticks.length) {
      const near = axis.ticks.reduce((a, b) => Math.abs(b[0] - value) < Math.abs(a[0] - value) ? b : a);
      if (near[1] && Math.abs(near[0] - value) < 0.5) return near[1];
    }
    return short(value);
  };
  const button = (text, label, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", () => action(made));
    return made;
  };
  const download = (name, address) => {
    const link = document.createElement("a");
    link.download = name;
    link.href = address;
    link.click();
  };
  const cells = marks => marks.shares[0].length / 2, share = (marks, i, j) => marks.shares[i].slice(2 * j, 2 * j + 2) / 99;
  const dashes = {"-": [], "--": [6, 3], ":": [2, 2]};
  const font = "12px sans-serif", ruler = document.createElement("canvas").getContext("2d");
  ruler.font = font;
  const half = text => ruler.measureText(text).width / 2;
  // Draws the marks of a panel on the canvas of uPlot, which has the axes, the scales and the cursor.
  const paint = (u, panel, hidden) => {
    const {ctx, bbox} = u, ratio = devicePixelRatio || 1;
    const at = (axis, value, edge) => value == null ? edge : u.valToPos(axis === "x" && panel.x.form === "date" ? value * 86400 : value, axis, true);
    const x = (value, edge) => at("x", value, edge), y = (value, edge) => at("y", value, edge);
    const [left, top, right, bottom] = [bbox.left, bbox.top, bbox.left + bbox.width, bbox.top + bbox.height];
    const path = (marks, steps) => {
      let pen = false, last = 0;
      ctx.beginPath();
      marks.x.forEach((value, i) => {
        if (value == null || marks.y[i] == null) { pen = false; return; }
        const [a, b] = [x(value), y(marks.y[i])];
        if (!pen) ctx.moveTo(a, b); else { if (steps) ctx.lineTo(a, last); ctx.lineTo(a, b); }
        [pen, last] = [true, b];
      });
    };
    const dots = (marks, sizes) => marks.x.forEach((value, i) => {
      if (value == null || marks.y[i] == null) return;
      ctx.fillStyle = colour(marks.colours[i % marks.colours.length]);
      ctx.beginPath();
      ctx.arc(x(value), y(marks.y[i]), ratio * (sizes ? sizes[i] : 2), 0, 7);
      ctx.fill();
    });
    ctx.save(); // uPlot remembers what it has set
    ctx.save();
    ctx.beginPath();
    ctx.rect(left - 3, top - 3, bbox.width + 6, bbox.height + 6);
    ctx.clip();
    for (const marks of panel.marks) {
      if (!marks.x || hidden.has(marks.name)) continue;
      ctx.globalAlpha = marks.opacity;
      ctx.strokeStyle = ctx.fillStyle = colour(marks.colours[0]);
      ctx.lineWidth = marks.width * ratio;
      ctx.setLineDash(dashes[marks.dash].map(part => part * ratio));
      if (marks.outlined) [ctx.strokeStyle, ctx.lineWidth] = [css("--page"), ratio * 0.4];
      if (marks.kind === "line" || marks.kind === "steps") {
        path(marks, marks.kind === "steps");
        ctx.stroke();
        if (marks.marker) dots(marks);
      } else if (marks.kind === "points") dots(marks, marks.sizes);
      else if (marks.kind === "polygon") { path(marks); ctx.fill(); }
      else if (marks.kind === "cells") {
        const [a, b, c, d] = [x(marks.x[0]), y(marks.y[0]), x(marks.x_to[0]), y(marks.y_to[0])];
        const across = i => Math.round(a + (c - a) * i / cells(marks)), up = i => Math.round(b + (d - b) * i / marks.shares.length);
        marks.shares.forEach((row, i) => {
          for (let j = 0; j < cells(marks); j++) {
            ctx.globalAlpha = share(marks, i, j);
            ctx.fillRect(across(j), up(i + 1), across(j + 1) - across(j), up(i) - up(i + 1));
          }
        });
      }
      else marks.x.forEach((value, i) => {
        const ends = [x(value, left), y(marks.y[i], bottom), x(marks.x_to[i], right), y(marks.y_to[i], top)];
        if (marks.kind === "bars") {
          const [a, b] = [Math.round(ends[0]), Math.round(ends[2])]; // no seams between neighbours
          ctx.fillRect(a, ends[1], b - a || 1, ends[3] - ends[1]);
          if (marks.outlined) ctx.strokeRect(a, ends[1], b - a || 1, ends[3] - ends[1]);
          return;
        }
        ctx.strokeStyle = colour(marks.colours[i % marks.colours.length]);
        ctx.beginPath();
        ctx.moveTo(ends[0], ends[1]);
        ctx.lineTo(ends[2], ends[3]);
        ctx.stroke();
      });
    }
    ctx.restore();
    ctx.fillStyle = css("--ink");
    ctx.font = 11 * ratio + "px sans-serif";
    for (const [across, up, text] of panel.texts) {
      ctx.textAlign = across === 0.5 ? "center" : "left";
      ctx.fillText(text, left + across * bbox.width, bottom - up * bbox.height);
    }
    ctx.restore();
  };
  const along = (axis, value) => axis.log ? Math.log(value) : axis.linear ? Math.asinh(value / axis.linear) : value;
  // Values next to a place: of each mark, the point nearest to it. Marks with labels are hit or missed.
  const near = (panel, hidden, at, up) => {
    const found = [];
    const gap = value => Math.abs(along(panel.x, value) - along(panel.x, at));
    const within = (value, from, to) => value >= Math.min(from, to) && value <= Math.max(from, to);
    for (const marks of panel.marks) {
      if (!marks.x || hidden.has(marks.name) || marks.kind === "polygon") continue;
      if (marks.kind === "segments" && !marks.name) continue; // a line between nodes, an interval
      const name = marks.name ? marks.name + " " : "";
      if (marks.kind === "cells") {
        const part = (value, from, to, n) => Math.min(Math.floor((value - from) / (to - from) * n), n - 1);
        const i = part(up, marks.y[0], marks.y_to[0], marks.shares.length), j = part(at, marks.x[0], marks.x_to[0], cells(marks));
        if (i >= 0 && j >= 0) found.push(name + short(100 * share(marks, i, j), 2) + " %");
        continue;
      }
      let best = -1, least = Infinity;
      marks.x.forEach((value, i) => {
        if (value == null || marks.y[i] == null) return;
        const inside = marks.kind === "bars" && within(at, value, marks.x_to[i]);
        if (marks.labels && !(inside && within(up, marks.y[i], marks.y_to[i]))) return;
        let far = inside ? 0 : marks.kind === "steps" && value > at ? Infinity : marks.kind === "bars" ? Infinity : gap(value);
        if (far === 0 && marks.y_to && isFinite(up)) far = Math.abs((marks.y[i] + marks.y_to[i]) / 2 - up) * 1e-9;
        if (far < least) [best, least] = [i, far];
      });
      if (best < 0) continue;
      if (marks.labels) { found.push(marks.labels[best]); continue; }
      const onNames = panel.y.form === "names" && marks.kind === "bars";
      const value = onNames ? marks.x_to[best] : marks.kind === "bars" ? marks.y_to[best] : marks.y[best];
      const where = onNames ? written(panel.y, (marks.y[best] + marks.y_to[best]) / 2) + " " : "";
      found.push(name + where + written(onNames ? panel.x : panel.y, value));
    }
    return found.slice(0, 8);
  };
  const linear = axis => ({...axis, log: false, linear: 0, ticks: [], toggled: true});
  const logarithmic = (axis, panel) => {
    const values = panel.marks.flatMap(marks => [...(marks.y || []), ...(marks.y_to || [])]).filter(value => value > 0);
    if (!values.length) return axis;
    return {...axis, log: true, linear: 0, toggled: true, range: [Math.min(...values), Math.max(...axis.range)], ticks: []};
  };
  const show = (figure, panel, host, height, hidden, state, letters, linked) => {
    let axes = {x: panel.x, y: panel.y};
    if (state.flipped) axes.y = panel.y.log || panel.y.linear ? linear(panel.y) : logarithmic(panel.y, panel);
    const shown = {...panel, ...axes}, date = axes.x.form === "date", unit = date ? 86400 : 1;
    const ends = axis => [...axis.range].sort((a, b) => a - b);
    const [low, high] = ends(axes.x).map(value => value * unit);
    const scale = (axis, extra) => ({time: false, distr: axis.log ? 3 : axis.linear ? 4 : 1, asinh: axis.linear || 1, dir: axis.range[0] > axis.range[1] ? -1 : 1, ...extra});
    const axisOf = (key, side) => {
      const axis = axes[key], ticks = [...axis.ticks, ...axis.between].sort((a, b) => a[0] - b[0]), by = key === "x" ? unit : 1;
      const long = key === "y" ? (height - 30) / (axis.label.length || 1) : 12; // room for each letter of the label
      const made = {
        scale: key, side, stroke: css("--muted"), label: axis.label || undefined, labelSize: 16, labelGap: 0, labelFont: Math.max(8, Math.min(12, long * 1.9)).toFixed(1) + "px sans-serif", font,
        grid: {show: axis.grid, stroke: css("--grid"), width: 1}, ticks: {show: false}, gap: key === "x" ? 8 : 4, // below the lowest label of the y axis
        size: key === "x" ? 24 : 14 + 6.5 * letters,
      };
      const seen = u => ticks.filter(([place]) => place * by >= u.scales[key].min * (1 - 1e-9) && place * by <= u.scales[key].max * (1 + 1e-9) + 1e-9);
      const own = u => axis.form === "names" || (!axis.toggled && (u.scales[key].min === (key === "x" ? low : ends(axis)[0]) || seen(u).length > 2) && !(date && zoomed(u)));
      const zoomed = u => key === "x" && (u.scales.x.min > low || u.scales.x.max < high);
      if (ticks.length) {
        const splits = (u, i, a, b, step, space) => {
          if (own(u)) return seen(u).map(([place]) => place * by);
          const n = 5, size = 10 ** Math.floor(Math.log10((b - a) / n)), by_ = [1, 2, 5, 10].find(m => m * size >= (b - a) / n) * size;
          if (axis.log) return [...Array(n + 1)].map((_, k) => a * (b / a) ** (k / n));
          return [...Array(n + 2)].map((_, k) => Math.ceil(a / by_) * by_ + k * by_).filter(value => value <= b);
        };
        made.splits = splits;
      }
      made.filter = (u, splits) => splits;
      const texts = splits => splits.map(value => {
        const tick = ticks.find(([place]) => Math.abs(place * by - value) <= 1e-9 * Math.abs(value || 1));
        return !axis.labelled || value == null ? "" : tick ? tick[1] : axis.form === "names" ? "" : written(axis, value / by).replace(/ 00:00$/, "");
      });
      made.values = (u, splits) => {
        const found = texts(splits), places = splits.map(value => u.valToPos(value ?? NaN, key));
        let free = -Infinity; // a label that would touch the one before it is left out
        if (key === "x") for (const i of [...found.keys()].sort((i, j) => places[i] - places[j])) {
          if (places[i] - half(found[i]) - 2 < free) found[i] = "";
          else if (found[i]) free = places[i] + half(found[i]) + 2;
        }
        return found;
      };
      return made;
    };
    const output = figure.querySelector("output"), width = host.clientWidth || 400;
    const [first, final] = axes.x.range.map(value => along(axes.x, value));
    const [place, text] = axes.x.ticks.at(-1) ?? [0, ""];
    const right = Math.max(12, 2 + half(text) - (1 - (along(axes.x, place) - first) / (final - first || 1)) * width); // for half of the last label
    const u = new uPlot({
      width, height, legend: {show: false}, padding: [8, right, 0, 0],
      scales: {x: scale(axes.x, {range: (u, a, b) => [a, b]}), y: scale(axes.y, {range: ends(axes.y)})},
      axes: [axisOf("x", 2), axisOf("y", 3)],
      series: [{}, {scale: "y", paths: () => null, points: {show: false}}],
      cursor: {drag: {x: true, y: false}, points: {show: false}, y: false, bind: {dblclick: u => () => { u.setScale("x", {min: low, max: high}); return null; }}},
      hooks: {
        draw: [u => paint(u, shown, hidden)],
        setCursor: [u => {
          if (u.cursor.left < 0) return;
          const at = u.posToVal(u.cursor.left, "x"), found = near(shown, hidden, at / unit, u.posToVal(u.cursor.top, "y"));
          for (const other of linked(u)) {
            other.u.setCursor({left: other.u.valToPos(at, "x"), top: 1}, false);
            found.push(...near({...other.panel, marks: other.panel.marks.filter(marks => !marks.labels && !marks.shares)}, hidden, at / unit, NaN));
          }
          output.textContent = (shown.y.form === "names" ? "" : written(shown.x, at / unit) + ": ") + found.join(", ");
        }],
        setScale: [(u, key) => {
          if (key !== "x") return;
          const {min, max} = u.scales.x;
          for (const {u: other} of linked(u)) if (other.scales.x.min !== min || other.scales.x.max !== max) other.setScale("x", {min, max});
        }],
      },
    }, [[low, high], ends(axes.y)], host);
    const named = panel.marks.filter(marks => marks.labels), middle = (from, to) => from.map((value, i) => (value + to[i]) / 2);
    const stops = named.length
      ? named.flatMap(marks => { const up = middle(marks.y, marks.y_to); return middle(marks.x, marks.x_to).map((value, i) => [value, up[i]]); })
      : [...new Set(panel.marks.flatMap(marks => marks.kind === "polygon" ? [] : marks.x || []))].filter(value => value != null).map(value => [value]);
    return {u, panel: shown, low, high, unit, stops: stops.sort((a, b) => a[0] - b[0]), place: 0};
  };
  const live = figure => {
    const source = figure.querySelector("script[type='application/json']"), svg = figure.querySelector("svg");
    const rows = JSON.parse(source.textContent), panels = rows.flat(), hidden = new Set(), state = {flipped: false};
    const box = document.createElement("div"), legend = document.createElement("div"), tools = document.createElement("div");
    const output = document.createElement("output"), name = figure.id.replace("figure-", "");
    box.className = "chart";
    box.tabIndex = 0;
    box.setAttribute("role", "application");
    box.setAttribute("aria-label", svg.getAttribute("aria-label") + " Arrows move the cursor, + and − zoom, Escape shows all.");
    output.setAttribute("aria-live", "polite");
    legend.className = "legend";
    tools.className = "tools";
    let charts = [];
    const letters = i => Math.max(3, ...rows.flatMap(row => row[i]?.y.labelled ? row[i].y.ticks.map(tick => tick[1].length) : []));
    const build = () => {
      charts.forEach(chart => chart.u.destroy());
      box.textContent = "";
      const {width, height: whole} = svg.viewBox.baseVal, height = Math.max(140, box.clientWidth * whole / width / rows.length);
      const linked = u => { // panels over the same time
        const own = charts.find(chart => chart.u === u);
        return own && rows.length > 1 ? charts.filter(chart => chart !== own && chart.low === own.low && chart.high === own.high) : [];
      };
      charts = rows.flatMap(row => {
        const line = document.createElement("div");
        const columns = Math.max(1, Math.min(row.length, Math.floor(box.clientWidth / 200)));
        line.style.cssText = `display:grid;grid-template-columns:repeat(${columns},minmax(0,1fr))`;
        box.append(line);
        const hosts = row.map(() => line.appendChild(document.createElement("div")));
        return row.map((panel, i) => {
          if (panel.title) hosts[i].appendChild(document.createElement("p")).textContent = panel.title;
          return show(figure, panel, hosts[i], height, hidden, state, letters(i), linked);
        });
      });
    };
    const entries = panels.flatMap(panel => panel.legend).filter((entry, i, all) => all.findIndex(one => one.name === entry.name) === i);
    for (const entry of entries) {
      const known = panels.some(panel => panel.marks.some(marks => marks.name === entry.name));
      const item = known ? button(entry.name, entry.name + ": show or hide", item => {
        if (!hidden.delete(entry.name)) hidden.add(entry.name);
        item.setAttribute("aria-pressed", !hidden.has(entry.name));
        charts.forEach(chart => chart.u.redraw());
      }) : document.createElement("span");
      if (known) item.setAttribute("aria-pressed", "true"); else item.textContent = entry.name;
      item.style.setProperty("--c", entry.colours[0].startsWith("--") ? `var(${entry.colours[0]})` : entry.colours[0]);
      item.dataset.kind = {"-": entry.kind, "--": "dashed", ":": "dotted"}[entry.dash];
      legend.append(item);
    }
    if (panels.some(panel => panel.y.form !== "names"))
      tools.append(button("log scale", "log scale or linear y axis: " + name, made => {
        state.flipped = !state.flipped;
        made.setAttribute("aria-pressed", state.flipped);
        build();
      }));
    tools.append(
      button("PNG", "PNG of the figure: " + name, () => {
        const canvases = charts.map(chart => chart.u.ctx.canvas), ratio = devicePixelRatio || 1, base = box.getBoundingClientRect();
        const canvas = document.createElement("canvas"), ctx = canvas.getContext("2d"), head = 44 * ratio;
        canvas.width = box.clientWidth * ratio;
        canvas.height = box.clientHeight * ratio + head;
        ctx.fillStyle = css("--page");
        ctx.fillRect(0, 0, canvas.width, canvas.height);
        ctx.fillStyle = css("--ink");
        ctx.font = 13 * ratio + "px sans-serif";
        ctx.fillText(figure.querySelector("figcaption").textContent.trim(), 4 * ratio, 16 * ratio);
        let x = 4 * ratio;
        for (const entry of entries.filter(entry => !hidden.has(entry.name))) {
          ctx.fillStyle = colour(entry.colours[0]);
          ctx.fillRect(x, 28 * ratio, 12 * ratio, 6 * ratio);
          ctx.fillStyle = css("--ink");
          ctx.fillText(entry.name, x + 16 * ratio, 36 * ratio);
          x += ctx.measureText(entry.name).width + 32 * ratio;
        }
        for (const one of canvases) {
          const place = one.getBoundingClientRect();
          ctx.drawImage(one, (place.left - base.left) * ratio, (place.top - base.top) * ratio + head);
        }
        download(name + ".png", canvas.toDataURL("image/png"));
      }),
      button("CSV", "CSV of the figure: " + name, () => {
        const quoted = word => /[",\n]/.test(word) ? `"${String(word).replace(/"/g, '""')}"` : word ?? "";
        const lines = panels.flatMap((panel, p) => panel.marks.flatMap(marks => (marks.x || []).map((value, i) =>
          [p + 1, marks.name, marks.kind, value, marks.y[i], marks.x_to?.[i], marks.y_to?.[i], marks.labels?.[i] ?? marks.shares?.join(" ")].map(quoted).join(",") + "\n")));
        download(name + ".csv", "data:text/csv;charset=utf-8," + encodeURIComponent("panel,series,mark,x,y,x_to,y_to,label\n" + lines.join("")));
      }),
    );
    box.addEventListener("keydown", event => {
      const chart = charts[0], {u, low, high, unit, stops} = chart;
      const step = {ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -stops.length, End: stops.length}[event.key];
      const at = stops.length ? stops[chart.place][0] * unit : NaN;
      if (step && stops.length) {
        chart.place = Math.min(Math.max(chart.place + step, 0), stops.length - 1);
        const [across, up] = stops[chart.place];
        for (const {u, unit} of [...charts].reverse()) u.setCursor({left: u.valToPos(across * unit, "x"), top: up == null ? 10 : u.valToPos(up, "y")});
      } else if (event.key === "+" || event.key === "-") {
        const {min, max} = u.scales.x, by = event.key === "+" ? 0.5 : 2, middle = at >= min && at <= max ? at : (min + max) / 2;
        const ends = panels[0].x.log ? [middle * (min / middle) ** by, middle * (max / middle) ** by] : [middle - (middle - min) * by, middle + (max - middle) * by];
        charts.forEach(({u}) => u.setScale("x", {min: Math.max(ends[0], low), max: Math.min(ends[1], high)}));
      } else if (event.key === "Escape") charts.forEach(({u, low, high}) => u.setScale("x", {min: low, max: high}));
      else return;
      event.preventDefault();
    });
    svg.after(legend, box, output, tools);
    figure.classList.add("live");
    build();
    new ResizeObserver(() => { if (charts.length && Math.abs(charts[0].width - box.clientWidth) > 1) build(); charts.forEach(chart => { chart.width = box.clientWidth; }); }).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);
  };
  const watch = new IntersectionObserver(entries => {
    for (const {target, isIntersecting} of entries) if (isIntersecting) { watch.unobserve(target); live(target); }
  }, {rootMargin: "300px"});
  for (const source of document.querySelectorAll("figure > script[type='application/json']")) watch.observe(source.parentElement);
})();
