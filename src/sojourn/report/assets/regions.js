// Regions: one of a few names for each pair, as a colour. Equal neighbours in a row are one rectangle.

function drawRegions(chart) {
  const { spec, svg, width } = chart;
  const rows = spec.y.values.length, columns = spec.x.values.length;
  const names = (axis) => axis.values.map((value) => (typeof value === "number" ? shown(value, 6) : String(value)));
  const [across, down] = [names(spec.x), names(spec.y)];
  const left = Math.max(30, widest(down) + 12);
  const wide = Math.min(40, (width - 2 - left) / columns);
  const cell = Math.min(30, Math.max(wide, 60 / rows), Math.max(280, width * 0.6) / rows);
  const frame = { left, right: left + wide * columns, top: 26, bottom: 26 + cell * rows };
  const titleRows = linesOf(spec.x.label || "", width - left).length;
  svg.setAttribute("viewBox", `0 0 ${width} ${Math.round(frame.bottom + 26 + 15 * titleRows)}`);
  make("text", { x: 0, y: 13, class: "title" }, svg, spec.y.label || "");

  spec.values.forEach((line, row) => {
    for (let from = 0, to = 0; from < columns; from = to) {
      while (to < columns && line[to] === line[from]) to += 1;
      if (line[from] === null) continue;
      // The first row is at the bottom, as on an axis.
      const box = { x: left + wide * from, y: frame.bottom - cell * (row + 1), width: wide * (to - from), height: cell };
      make("rect", { ...box, class: `region c${spec.names[line[from]].colour}` }, svg);
    }
  });
  labelRows(svg, frame, down, cell);
  labelColumns(svg, frame, across, wide);
  wrapped(svg, spec.x.label || "", (frame.left + frame.right) / 2, frame.bottom + 34, width - left);
  const around = make("rect", { class: "around", width: wide, height: cell, visibility: "hidden" }, svg);

  const hover = (px, py) => {
    const column = Math.floor((px - left) / wide), row = Math.floor((frame.bottom - py) / cell);
    const value = (spec.values[row] || [])[column];
    if (value === undefined || value === null) return null;
    const at = { x: left + wide * column, y: frame.bottom - cell * (row + 1), visibility: "visible" };
    for (const [key, one] of Object.entries(at)) around.setAttribute(key, one);
    const told = { name: spec.value || "", colour: spec.names[value].colour, told: spec.names[value].label };
    const place = `${spec.y.short || spec.y.label} ${down[row]}, ${spec.x.short || spec.x.label} ${across[column]}`;
    return { x: at.x + wide / 2, y: at.y + cell / 2, at: place, rows: [told] };
  };
  return { frame, hover, leave: () => around.setAttribute("visibility", "hidden") };
}
