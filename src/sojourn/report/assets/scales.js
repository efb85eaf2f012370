// Turn numbers into places and into text.

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function scaleOf(domain, range, log) {
  const at = log ? Math.log10 : (value) => value;
  const [first, last] = domain.map(at);
  const width = last - first || 1;
  const place = (value) => range[0] + ((at(value) - first) / width) * (range[1] - range[0]);
  place.invert = (pixel) => {
    const value = first + ((pixel - range[0]) / (range[1] - range[0])) * width;
    return log ? 10 ** value : value;
  };
  return place;
}

function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough * 0.999) || 10);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

// Ticks at powers of ten, with more between them if few powers are in range.
function logTicks(low, high, count) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const decades = Math.log10(high / low);
  if (decades < 1) return linearTicks(low, high, count).filter((value) => value > 0);
  const parts = decades < 2.5 && decades * 3 <= count ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / Math.max(1, count)));
  const ticks = [];
  for (let power = first; power <= last; power += 1) {
    if (power % every) continue;
    for (const part of parts) ticks.push(Number((part * 10 ** power).toPrecision(12)));
  }
  return ticks.filter((value) => value >= low * 0.999999 && value <= high * 1.000001);
}

function ticksOf(domain, axis, count) {
  const ticks = axis.log ? logTicks(...domain, count) : linearTicks(...domain, count);
  return axis.whole ? ticks.filter(Number.isInteger) : ticks;
}

// A number with this many significant digits, in the same form as in the tables.
function shown(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) {
    return value.toExponential(digits - 1).replace(/\.?0*e/, "e").replace("e+", "e");
  }
  if (size >= 10 ** (digits - 1)) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(digits)));
}

function tickText(value, log, ticks) {
  const power = Math.log10(Math.abs(value));
  if (log && Math.abs(power - Math.round(power)) < 1e-9 && (Math.abs(power) >= 4 || ticks.some((one) => Math.abs(Math.log10(one)) >= 4))) {
    const exponent = Math.round(power);
    if (exponent === 0) return "1";
    if (exponent === 1) return "10";
    return "10" + (exponent < 0 ? "⁻" : "") + [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[digit]).join("");
  }
  return Number.isInteger(value) && Math.abs(value) < 1e7 ? value.toLocaleString("en-US") : shown(value, 6);
}

function withUnit(value, axis) {
  return axis && axis.unit ? `${shown(value)} ${axis.unit}` : shown(value);
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

// Add some room on both sides, so that no mark lies on an edge.
function padded([low, high], log, part) {
  if (log) {
    const ratio = low === high ? 2 : (high / low) ** part;
    return [low / ratio, high * ratio];
  }
  const room = low === high ? Math.abs(low) * 0.1 || 1 : (high - low) * part;
  return [low - room, high + room];
}
