// The frame that line charts and dot-and-whisker charts share: ticks, grid, titles.

const RULER = document.createElement("canvas").getContext("2d");

// The width of a text on a chart, in points.
function textWidth(text, size = 12) {
  RULER.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return RULER.measureText(text).width;
}

function widest(texts) {
  return Math.max(0, ...texts.map((text) => textWidth(text)));
}

// The part of a text that fits.
function shortened(text, room) {
  if (textWidth(text) <= room) return text;
  let end = text.length;
  while (end > 1 && textWidth(`${text.slice(0, end)}…`) > room) end -= 1;
  return `${text.slice(0, end)}…`;
}

// Draw the vertical axis, with its title above it so that it is not rotated.
function verticalAxis(svg, frame, scale, axis, ticks) {
  for (const tick of ticks) {
    const y = scale(tick);
    make("line", { x1: frame.left, x2: frame.right, y1: y, y2: y, class: "grid" }, svg);
    make("text", { x: frame.left - 6, y: y + 4, "text-anchor": "end" }, svg, tickText(tick, axis.log, ticks));
  }
  make("text", { x: 0, y: 13, class: "title" }, svg, axis.label || "");
}

function horizontalAxis(svg, frame, scale, axis, ticks) {
  make("line", { x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom, class: "axis" }, svg);
  let free = -Infinity;
  const texts = ticks.map((tick) => tickText(tick, axis.log, ticks));
  const order = ticks.map((tick, index) => [scale(tick), texts[index]]).sort((a, b) => a[0] - b[0]);
  for (const [x, text] of order) {
    make("line", { x1: x, x2: x, y1: frame.bottom, y2: frame.bottom + 5, class: "axis tick" }, svg);
    const half = textWidth(text) / 2;
    if (x - half < free) continue; // leave out labels that would overlap
    make("text", { x, y: frame.bottom + 18, "text-anchor": "middle", class: "xtick" }, svg, text);
    free = x + half + 8;
  }
  wrapped(svg, axis.label || "", (frame.left + frame.right) / 2, frame.bottom + 36, frame.right - frame.left);
}

// Draw a title in as many lines as it needs.
function wrapped(svg, text, x, y, width) {
  const lines = linesOf(text, width);
  lines.forEach((line, index) => {
    make("text", { x, y: y + 15 * index, "text-anchor": "middle", class: "title" }, svg, line);
  });
  return lines.length;
}

function linesOf(text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines[lines.length - 1] ? `${lines[lines.length - 1]} ${word}` : word;
    if (textWidth(longer, 12.5) > width && lines[lines.length - 1]) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
