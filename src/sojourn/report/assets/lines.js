// Line charts: lines with ranges, points with whiskers, vertical lines, shaded spans; linear or log axes.

function drawLines(chart) {
  const { spec, svg, width } = chart;
  const seen = spec.series.filter((series) => !chart.hidden.has(series.name));
  const full = fullDomains(spec, seen);
  const domain = chart.zoom ? { x: chart.zoom.x, y: chart.zoom.y || heightOf(spec, seen, chart.zoom.x) || full.y } : full;
  chart.full = full;
  chart.domain = domain;

  const height = Math.round(Math.max(250, Math.min(width * 0.6, spec.height || 380)));
  const yTicks = ticksOf(domain.y, spec.y, height / 50);
  const left = Math.max(30, widest(yTicks.map((tick) => tickText(tick, spec.y.log, yTicks))) + 10);
  const rows = linesOf(spec.x.label || "", width - left - 12).length;
  const frame = { left, right: width - 12, top: 26, bottom: height - 27 - 15 * rows };
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const ends = spec.x.reverse ? [frame.right, frame.left] : [frame.left, frame.right];
  const x = scaleOf(domain.x, ends, spec.x.log);
  const y = scaleOf(domain.y, [frame.bottom, frame.top], spec.y.log);

  const clip = `clip-${chart.figure.id}`;
  const defs = make("defs", {}, svg);
  make("rect", { x: frame.left, y: frame.top, width: frame.right - frame.left, height: frame.bottom - frame.top }, make("clipPath", { id: clip }, defs));
  verticalAxis(svg, frame, y, spec.y, yTicks);
  const inside = make("g", { "clip-path": `url(#${clip})` }, svg);
  for (const span of spec.spans || []) drawSpan(inside, frame, x, y, domain, span);
  if (!spec.y.log && domain.y[0] < 0 && domain.y[1] > 0) {
    make("line", { x1: frame.left, x2: frame.right, y1: y(0), y2: y(0), class: "zero" }, inside);
  }
  for (const series of seen) drawSeries(inside, frame, x, y, spec, series);
  horizontalAxis(svg, frame, x, spec.x, ticksOf(domain.x, spec.x, (frame.right - frame.left) / 75));
  return { frame, x, y, hover: (px) => nearestColumn(chart, seen, x, y, px) };
}

// Series with the same horizontal places share them: x is the number of a list in xs.
function xsOf(spec, series) {
  return spec.xs[series.x];
}

function fullDomains(spec, seen) {
  const xs = [];
  for (const series of spec.series) xs.push(...(series.vertical !== undefined ? [series.vertical] : xsOf(spec, series)));
  const usable = spec.x.log ? xs.filter((value) => value > 0) : xs;
  const [low, high] = extent(usable) || [1, 2];
  const x = padded([spec.x.min ?? low, spec.x.max ?? high], spec.x.log, 0.02);
  return { x, y: heightOf(spec, seen, x) || (spec.y.log ? [1, 10] : [0, 1]) };
}

// The range of what is seen between two ends, unless the chart fixes it.
function heightOf(spec, seen, [low, high]) {
  const values = [];
  for (const series of seen) {
    if (series.vertical !== undefined) continue;
    const xs = xsOf(spec, series);
    for (let i = 0; i < xs.length; i += 1) {
      if (xs[i] < low || xs[i] > high) continue;
      values.push(series.y[i]);
      if (series.low) values.push(series.low[i], series.high[i]);
    }
  }
  const range = extent(spec.y.log ? values.filter((value) => value > 0) : values);
  if (!range && (spec.y.min === undefined || spec.y.max === undefined)) return null;
  const [bottom, top] = range ? padded(range, spec.y.log, 0.06) : [spec.y.min, spec.y.max];
  return [spec.y.min ?? bottom, spec.y.max ?? top];
}

function drawSpan(group, frame, x, y, domain, span) {
  const [scale, axis, first, last] = span.axis === "y" ? [y, domain.y, frame.top, frame.bottom] : [x, domain.x, frame.left, frame.right];
  const ends = [scale(span.from ?? axis[0]), scale(span.to ?? axis[1])].sort((a, b) => a - b);
  const from = Math.max(first, ends[0]), to = Math.min(last, ends[1]);
  if (!(to > from)) return;
  const box = span.axis === "y"
    ? { x: frame.left, y: from, width: frame.right - frame.left, height: to - from }
    : { x: from, y: frame.top, width: to - from, height: frame.bottom - frame.top };
  make("rect", { ...box, class: `span c${span.colour}` }, group);
}

function drawSeries(group, frame, x, y, spec, series) {
  const colour = `c${series.colour}`;
  const dash = DASHES[series.dash || 0];
  const own = make("g", { class: "series", "data-name": series.name }, group);
  if (series.vertical !== undefined) {
    const at = x(series.vertical);
    make("line", { x1: at, x2: at, y1: frame.top, y2: frame.bottom, class: `line ${colour}`, "stroke-dasharray": dash }, own);
    if (series.marker !== null) markerAt(own, series.marker, at, frame.top + 6, 4.2, series.colour);
    return;
  }
  const points = pointsOf(spec, series, x, y);
  if (series.low && !series.points) drawRange(own, points, colour);
  if (series.points) {
    for (const point of points) {
      if (point && Number.isFinite(point.low) && Number.isFinite(point.high)) {
        make("line", { x1: point.x, x2: point.x, y1: point.low, y2: point.high, class: `${series.bar ? "bar" : "whisker"} ${colour}` }, own);
      }
    }
  } else {
    const weight = series.thick ? " thick" : series.thin ? " thin" : "";
    make("path", { d: pathOf(points, series.step), class: `line ${colour}${weight}`, "stroke-dasharray": dash }, own);
  }
  const marked = series.marker !== null && series.marker !== undefined && !series.thick;
  if (marked) {
    // Markers on a line are spaced out, so that they do not hide it.
    const seen = points.filter(Boolean), width = seen.length ? Math.abs(seen[seen.length - 1].x - seen[0].x) : 0;
    const every = series.points ? 1 : Math.max(1, Math.ceil((30 * seen.length) / (width || 1)));
    for (const point of seen.filter((_, index) => index % every === 0)) {
      if (point.x >= frame.left - 6 && point.x <= frame.right + 6) markerAt(own, series.marker, point.x, point.y, series.points ? 3.2 : 3.4, series.colour);
    }
  }
}

function pointsOf(spec, series, x, y) {
  const usable = (value) => value !== null && Number.isFinite(value) && !(spec.y.log && value <= 0);
  // Values too low for a log axis are drawn at the bottom.
  const clipped = (value) => (spec.y.log && value <= 0 ? y(spec.y.min ?? 1e-300) : y(value));
  return xsOf(spec, series).map((value, index) => {
    if (!usable(series.y[index]) || (spec.x.log && value <= 0)) return null;
    const ranged = series.low && series.low[index] !== null && series.high[index] !== null;
    return {
      x: x(value + (series.shift || 0)),
      y: y(series.y[index]),
      low: ranged ? clipped(series.low[index]) : null,
      high: ranged ? clipped(series.high[index]) : null,
    };
  });
}

function pathOf(points, step) {
  let path = "", before = null;
  for (const point of points) {
    if (point) {
      const [px, py] = [point.x.toFixed(1), Math.max(-1e5, Math.min(1e5, point.y)).toFixed(1)];
      path += before ? (step ? `H${px}V${py}` : `L${px} ${py}`) : `M${px} ${py}`;
    }
    before = point;
  }
  return path;
}

function drawRange(group, points, colour) {
  const ranged = points.filter((point) => point && point.low !== null);
  if (ranged.length < 2) return;
  const at = (point, value) => `${point.x.toFixed(1)} ${Math.max(-1e5, Math.min(1e5, value)).toFixed(1)}`;
  const upper = ranged.map((point) => at(point, point.high));
  const lower = ranged.map((point) => at(point, point.low)).reverse();
  make("path", { d: `M${[...upper, ...lower].join("L")}z`, class: `range ${colour}` }, group);
}

// The text of the tooltip: all series at the x that is nearest to the pointer.
function nearestColumn(chart, seen, x, y, px) {
  const { spec } = chart;
  let best = null;
  for (const series of seen) {
    if (series.vertical !== undefined) continue;
    for (const value of xsOf(spec, series)) {
      const place = x(value);
      if (place < chart.drawn.frame.left - 2 || place > chart.drawn.frame.right + 2) continue;
      const distance = Math.abs(place - px);
      if (Number.isFinite(distance) && (!best || distance < best.distance)) best = { value, place, distance };
    }
  }
  const rows = [];
  for (const series of seen) {
    if (series.vertical !== undefined) {
      if (Math.abs(x(series.vertical) - px) <= 7) rows.push({ ...series, told: withUnit(series.vertical, spec.x) });
      continue;
    }
    if (!best) continue;
    const index = xsOf(spec, series).indexOf(best.value);
    if (index < 0 || series.y[index] === null || series.y[index] === undefined) continue;
    const ranged = series.low && series.low[index] !== null;
    const range = ranged && !(series.bar && series.high[index] === series.y[index]) ? ` (${shown(series.low[index], 3)} to ${shown(series.high[index], 3)})` : "";
    rows.push({ ...series, told: withUnit(series.y[index], spec.y) + range });
  }
  if (!rows.length) return null;
  const at = best ? `${spec.x.short || spec.x.label || "x"}: ${withUnit(best.value, spec.x)}` : "";
  return { x: best ? best.place : px, y: null, at, rows };
}
