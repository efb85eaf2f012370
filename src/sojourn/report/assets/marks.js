// Small pieces of SVG and HTML. Text is always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
// DASHES, the strokes and gaps of lines, and GRADIENTS, the colours of heatmaps, come from looks.py.

function make(name, attributes = {}, parent = null, text = null) {
  const svg = ["svg", "g", "path", "line", "rect", "circle", "text", "clipPath", "defs"].includes(name);
  const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  if (text !== null) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

function markerAt(parent, kind, x, y, size, colour) {
  const s = size;
  const shapes = [
    null,
    `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`,
    `M${x} ${y - 1.2 * s}L${x + 1.15 * s} ${y + 0.9 * s}H${x - 1.15 * s}z`,
    `M${x} ${y - 1.35 * s}L${x + 1.2 * s} ${y}L${x} ${y + 1.35 * s}L${x - 1.2 * s} ${y}z`,
    `M${x} ${y + 1.2 * s}L${x + 1.15 * s} ${y - 0.9 * s}H${x - 1.15 * s}z`,
    `M${x - s} ${y - s}L${x + s} ${y + s}M${x - s} ${y + s}L${x + s} ${y - s}`,
    `M${x - 1.3 * s} ${y}H${x + 1.3 * s}M${x} ${y - 1.3 * s}V${y + 1.3 * s}`,
  ];
  const open = kind >= 5 ? " open" : "";
  if (kind === 0) return make("circle", { cx: x, cy: y, r: s, class: `marker c${colour}` }, parent);
  return make("path", { d: shapes[kind], class: `marker c${colour}${open}` }, parent);
}

// The sample of a series in a legend.
function sample(parent, series) {
  const svg = make("svg", { viewBox: "0 0 30 12", "aria-hidden": "true" }, parent);
  if (series.vertical !== undefined || !series.points || series.bar) {
    const weight = series.thick || series.bar ? 6 : 2;
    const line = make("line", { x1: 1, x2: 29, y1: 6, y2: 6, class: `line c${series.colour}`, "stroke-dasharray": DASHES[series.dash || 0] }, svg);
    line.style.strokeWidth = weight;
    if (weight > 2) line.style.opacity = 0.5;
  }
  if (!series.thick && series.marker !== null && series.marker !== undefined) markerAt(svg, series.marker, 15, 6, 3.4, series.colour);
  return svg;
}

function colourAt(share, palette) {
  const stops = GRADIENTS[palette];
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  return stops[index].map((low, part) => Math.round(low + (stops[index + 1][part] - low) * (place - index)));
}

// What is made of a colour, on a light ground and on a dark one.
function onBoth(share, palette, made) {
  const dark = `${palette}, dark` in GRADIENTS ? `${palette}, dark` : palette;
  return `light-dark(${made(colourAt(share, palette))}, ${made(colourAt(share, dark))})`;
}

const asFill = (colour) => `rgb(${colour})`;

// Black or white, whichever is readable on a colour.
function inkOn([red, green, blue]) {
  const linear = [red, green, blue].map((part) => (part / 255 <= 0.04045 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18 ? "#000" : "#fff";
}
