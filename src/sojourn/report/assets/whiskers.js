// Dot-and-whisker charts: a row for each name, its value and its interval.

function drawWhiskers(chart) {
  const { spec, svg, width } = chart;
  const seen = spec.rows.filter((row) => !chart.hidden.has(row.name));
  const values = spec.rows.flatMap((row) => [row.value, row.low, row.high]).concat(spec.reference ? [spec.reference.x] : []);
  const range = padded(extent(values.filter((value) => value !== null && (!spec.x.log || value > 0))) || [0, 1], spec.x.log, 0.05);
  chart.full = { x: [spec.x.min ?? range[0], spec.x.max ?? range[1]], y: null };
  const domain = chart.zoom ? chart.zoom.x : chart.full.x;
  chart.domain = { x: domain, y: null };

  const names = Math.min(width * 0.4, widest(spec.rows.map((row) => row.name)) + 14);
  const above = width < 480; // on a phone the name is above its row
  const step = above ? 40 : 28;
  const left = above ? 8 : names;
  const frame = { left, right: width - 14, top: 8, bottom: 8 + step * Math.max(1, seen.length) };
  const titleRows = linesOf(spec.x.label || "", frame.right - left).length;
  svg.setAttribute("viewBox", `0 0 ${width} ${frame.bottom + 27 + 15 * titleRows}`);
  const x = scaleOf(domain, [frame.left, frame.right], spec.x.log);
  const ticks = ticksOf(domain, spec.x, (frame.right - frame.left) / 75);
  for (const tick of ticks) make("line", { x1: x(tick), x2: x(tick), y1: frame.top, y2: frame.bottom, class: "grid" }, svg);
  const clip = `clip-${chart.figure.id}`;
  make("rect", { x: frame.left - 6, y: 0, width: frame.right - frame.left + 12, height: frame.bottom }, make("clipPath", { id: clip }, make("defs", {}, svg)));
  const inside = make("g", { "clip-path": `url(#${clip})` }, svg);
  if (spec.reference) {
    make("line", { x1: x(spec.reference.x), x2: x(spec.reference.x), y1: frame.top, y2: frame.bottom, class: "zero" }, inside);
  }
  const places = seen.map((row, index) => {
    const y = frame.top + step * (index + (above ? 0.72 : 0.5));
    const name = shortened(row.name, (above ? width : names) - 12);
    make("text", above ? { x: left, y: y - 12, class: "label" } : { x: left - 10, y: y + 4, "text-anchor": "end", class: "label" }, svg, name);
    const own = make("g", { class: "series", "data-name": row.name }, inside);
    if (row.low !== null && row.high !== null) {
      make("line", { x1: x(row.low), x2: x(row.high), y1: y, y2: y, class: `whisker c${row.colour}` }, own);
      for (const end of [row.low, row.high]) make("line", { x1: x(end), x2: x(end), y1: y - 4, y2: y + 4, class: `whisker c${row.colour}` }, own);
    }
    if (row.value !== null) markerAt(own, row.marker || 0, x(row.value), y, 4.2, row.colour);
    return y;
  });
  horizontalAxis(svg, frame, x, spec.x, ticks);

  const hover = (px, py) => {
    if (!places.length) return null;
    const index = places.reduce((best, y, i) => (Math.abs(y - py) < Math.abs(places[best] - py) ? i : best), 0);
    const row = seen[index];
    const rows = [{ ...row, name: spec.x.short || spec.x.label, told: withUnit(row.value, spec.x) }];
    if (row.low !== null) rows.push({ ...row, name: spec.interval || "interval", told: `${shown(row.low)} to ${shown(row.high)}` });
    return { x: x(row.value ?? domain[0]), y: places[index], at: row.name, rows };
  };
  return { frame, x, y: null, hover };
}
