// Heatmaps: a value for each pair, as a colour and, if there is room, as a number.

function drawHeatmap(chart) {
  const { spec, svg, width } = chart;
  const rows = spec.y.values.length, columns = spec.x.values.length;
  const names = (axis) => axis.values.map((value) => (typeof value === "number" ? shown(value, 2) : String(value)));
  const [across, down] = [names(spec.x), names(spec.y)];
  const left = Math.max(30, widest(down) + 12);
  const cell = Math.max(12, Math.min(spec.texts ? 46 : 30, (width * 0.8) / rows));
  const frame = { left, right: width - 2, top: 26, bottom: 26 + cell * rows };
  const titleRows = linesOf(spec.x.label || "", width - left).length;
  const height = frame.bottom + 30 + 15 * titleRows + 30;
  svg.setAttribute("viewBox", `0 0 ${width} ${Math.round(height)}`);
  make("text", { x: 0, y: 13, class: "title" }, svg, spec.y.label || "");

  const wide = (frame.right - frame.left) / columns;
  const cells = [];
  spec.values.forEach((line, row) => {
    line.forEach((value, column) => {
      // The first row is at the bottom, as on an axis.
      const box = { x: left + wide * column, y: frame.bottom - cell * (row + 1) };
      const share = (value - spec.min) / (spec.max - spec.min);
      const rect = make("rect", { ...box, width: wide, height: cell, class: cell < 18 ? "cell fine" : "cell", fill: value === null ? "none" : onBoth(share, spec.palette, asFill) }, svg);
      cells.push({ rect, row, column, value });
      if (value === null || !(spec.labels || spec.texts) || wide < 40) return;
      const ink = onBoth(share, spec.palette, inkOn);
      const label = (text, y, size) => {
        const element = make("text", { x: box.x + wide / 2, y, "text-anchor": "middle" }, svg, text);
        element.style.fill = ink;
        element.style.fontSize = size;
      };
      const below = (spec.texts && wide >= 74 && spec.texts[row][column]) || "";
      label(spec.labels ? spec.labels[row][column] : shown(value, 3), box.y + cell / 2 + (below ? -2 : 4), "13px");
      if (below) label(below, box.y + cell / 2 + 14, "10.5px");
    });
  });
  labelRows(svg, frame, down, cell);
  labelColumns(svg, frame, across, wide);
  wrapped(svg, spec.x.label || "", (frame.left + frame.right) / 2, frame.bottom + 34, width - left);
  colourBar(svg, frame, spec, height - 24);

  const hover = (px, py) => {
    const column = Math.floor((px - left) / wide), row = Math.floor((frame.bottom - py) / cell);
    for (const one of cells) one.rect.classList.toggle("near", one.row === row && one.column === column);
    const found = cells.find((one) => one.row === row && one.column === column);
    if (!found) return null;
    const told = [{ name: spec.value || "value", colour: 5, told: withUnit(found.value, spec) }];
    if (spec.texts) told.push({ name: spec.text || "", colour: 5, told: spec.texts[row][column] });
    const at = `${spec.y.short || spec.y.label} ${down[row]}, ${spec.x.short || spec.x.label} ${across[column]}`;
    return { x: left + wide * (column + 0.5), y: frame.bottom - cell * (row + 0.5), at, rows: told };
  };
  return { frame, hover, leave: () => cells.forEach((one) => one.rect.classList.remove("near")) };
}

// The smallest of 1, 2, 5, 10, 20, ... that is at least as large.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].find((one) => one * power >= least - 1e-9) * power;
}

function labelRows(svg, frame, texts, cell) {
  const every = roundStep(15 / cell);
  texts.forEach((text, row) => {
    if (row % every) return;
    make("text", { x: frame.left - 6, y: frame.bottom - cell * (row + 0.5) + 4, "text-anchor": "end" }, svg, text);
  });
}

function labelColumns(svg, frame, texts, wide) {
  const every = roundStep((widest(texts) + 8) / wide);
  texts.forEach((text, column) => {
    if (column % every) return;
    const x = frame.left + wide * (column + 0.5), half = textWidth(text) / 2;
    make("text", { x: Math.max(frame.left - 20 + half, Math.min(frame.right - half, x)), y: frame.bottom + 17, "text-anchor": "middle" }, svg, text);
  });
}

function colourBar(svg, frame, spec, top) {
  const width = Math.min(160, frame.right - frame.left - 90), steps = 24;
  const start = frame.left + (widest([shown(spec.min, 3)]) + 8);
  for (let i = 0; i < steps; i += 1) {
    make("rect", { x: start + (width / steps) * i, y: top, width: width / steps + 0.5, height: 9, fill: onBoth(i / (steps - 1), spec.palette, asFill) }, svg);
  }
  make("text", { x: start - 6, y: top + 9, "text-anchor": "end" }, svg, shown(spec.min, 3));
  make("text", { x: start + width + 6, y: top + 9 }, svg, withUnit(spec.max, spec));
}
