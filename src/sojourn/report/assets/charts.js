// A chart in its figure: choices, legend, tooltip, zoom. Each kind of chart draws its own contents.

const KINDS = { lines: drawLines, heatmap: drawHeatmap, regions: drawRegions, whiskers: drawWhiskers };
const ALL = [];

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.given = JSON.parse(figure.querySelector("script").textContent);
    this.canvas = figure.querySelector(".canvas");
    this.canvas.replaceChildren(); // remove the text for readers without scripts
    this.hidden = new Set(this.given.hidden || []);
    this.zoom = null;
    this.chosen = (this.given.choices || []).map((choice) => choice.start || 0);
    this.spec = this.specNow();
    this.controls = make("div", { class: "controls" });
    this.canvas.before(this.controls);
    this.addChoices();
    if (!["heatmap", "regions"].includes(this.given.type)) this.addZoom(figure.querySelector("figcaption"));
    if (!this.controls.childElementCount) this.controls.remove();
    this.svg = make("svg", { class: "plot", role: "img", tabindex: "0", "aria-label": this.given.title }, this.canvas);
    this.tip = make("div", { class: "tip", hidden: "" }, this.canvas);
    this.legend = make("div", { class: "legend", role: "group", "aria-label": `Series of: ${this.given.title}` });
    this.canvas.after(this.legend);
    this.listen();
    this.draw();
  }

  specNow() {
    const variant = (this.given.variants || {})[this.chosen.join("|")] || {};
    const series = variant.use && variant.use.map((place) => this.given.pool[place]);
    return { ...this.given, ...variant, ...(series && { series }) };
  }

  // --- Controls ---

  addChoices() {
    (this.given.choices || []).forEach((choice, place) => {
      const label = make("label", {}, this.controls, choice.label);
      const select = make("select", {}, label);
      choice.values.forEach((value, index) => make("option", { value: index }, select, value));
      select.value = this.chosen[place];
      select.addEventListener("change", () => {
        const alike = choice.link ? ALL.filter((one) => (one.given.choices || []).some((other) => other.link === choice.link)) : [this];
        for (const one of alike) one.choose(choice.link, place, Number(select.value));
      });
    });
  }

  choose(link, place, index) {
    const own = link ? this.given.choices.findIndex((choice) => choice.link === link) : place;
    this.chosen[own] = index;
    this.controls.querySelectorAll("select")[own].value = index;
    this.zoom = null;
    this.draw();
  }

  addZoom(caption) {
    const group = make("span", { class: "zoom", role: "group", "aria-label": "Zoom" }, caption);
    const button = (text, label, act) => {
      const element = make("button", { type: "button", "aria-label": label, title: label }, group, text);
      element.addEventListener("click", act);
      return element;
    };
    button("+", "Zoom in", () => this.zoomBy(0.5));
    button("−", "Zoom out", () => this.zoomBy(2));
    this.reset = button("Reset", "Show all", () => this.zoomTo(null));
    this.reset.classList.add("reset");
  }

  zoomTo(zoom) {
    this.zoom = zoom;
    this.draw();
  }

  zoomBy(factor) {
    const log = this.spec.x.log;
    const at = log ? Math.log10 : (value) => value, back = log ? (value) => 10 ** value : (value) => value;
    const [low, high] = this.domain.x.map(at), [first, last] = this.full.x.map(at);
    const half = ((high - low) / 2) * factor, middle = (low + high) / 2;
    if (2 * half >= last - first) return this.zoomTo(null);
    const from = Math.max(first, Math.min(last - 2 * half, middle - half));
    return this.zoomTo({ x: [back(from), back(from + 2 * half)], y: null });
  }

  // --- Drawing ---

  draw() {
    this.spec = this.specNow();
    this.width = Math.max(240, Math.round(this.canvas.clientWidth) || 640);
    this.svg.replaceChildren();
    this.drawn = KINDS[this.spec.type](this);
    this.cross = make("line", { class: "cross", visibility: "hidden" }, this.svg);
    this.box = make("rect", { class: "drag", visibility: "hidden" }, this.svg);
    if (this.reset) this.reset.disabled = !this.zoom;
    this.leave();
    this.drawLegend();
  }

  drawLegend() {
    const series = this.spec.series || [];
    const names = series.map((one) => one.name).join("\n");
    if (names !== this.named) {
      this.named = names;
      this.legend.replaceChildren();
      this.buttons = [];
      for (const one of series.length > 1 ? series : []) {
        const button = make("button", { type: "button", title: "Show or hide" }, this.legend);
        sample(button, one);
        make("span", {}, button, one.name);
        button.addEventListener("click", () => this.toggle(one.name));
        this.buttons.push(button);
      }
      for (const span of this.spec.spans || this.spec.names || []) {
        const item = make("span", { class: this.spec.names ? "ground full" : "ground" }, this.legend);
        make("i", { class: `c${span.colour}` }, item);
        make("span", {}, item, span.label);
      }
    }
    this.buttons.forEach((button, index) => {
      button.setAttribute("aria-pressed", String(!this.hidden.has(series[index].name)));
    });
  }

  toggle(name) {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.draw();
  }

  // --- Pointer and keys ---

  place(event) {
    const box = this.svg.getBoundingClientRect();
    const size = this.width / box.width;
    return [(event.clientX - box.left) * size, (event.clientY - box.top) * size];
  }

  listen() {
    let from = null;
    const drags = (event) => event.pointerType !== "touch" && this.reset;
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button || !drags(event)) return this.point(...this.place(event));
      from = this.place(event);
      return this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      const to = this.place(event);
      if (from && Math.abs(to[0] - from[0]) > 4) this.stretch(from, to);
      else this.point(...to);
    });
    this.svg.addEventListener("pointerup", (event) => {
      if (from) this.released(from, this.place(event));
      from = null;
    });
    this.svg.addEventListener("pointercancel", () => { from = null; this.leave(); });
    // Lifting a finger fires this event too; its tooltip stays until the finger touches something else.
    this.svg.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.leave());
    document.addEventListener("pointerdown", (event) => this.svg.contains(event.target) || this.leave());
    this.svg.addEventListener("dblclick", () => this.zoomTo(null));
    this.svg.addEventListener("blur", () => this.leave());
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  area(from, to) {
    const { frame } = this.drawn;
    const within = (value, low, high) => Math.max(low, Math.min(high, value));
    const xs = [from[0], to[0]].map((value) => within(value, frame.left, frame.right)).sort((a, b) => a - b);
    const ys = [from[1], to[1]].map((value) => within(value, frame.top, frame.bottom)).sort((a, b) => a - b);
    // A flat drag zooms only the horizontal axis.
    return { xs, ys, both: Boolean(this.drawn.y) && ys[1] - ys[0] > 24 };
  }

  stretch(from, to) {
    const { xs, ys, both } = this.area(from, to), { frame } = this.drawn;
    const [top, bottom] = both ? ys : [frame.top, frame.bottom];
    const box = { x: xs[0], y: top, width: xs[1] - xs[0], height: bottom - top, visibility: "visible" };
    for (const [key, value] of Object.entries(box)) this.box.setAttribute(key, value);
    this.tip.hidden = true;
  }

  released(from, to) {
    this.box.setAttribute("visibility", "hidden");
    const { xs, ys, both } = this.area(from, to);
    if (xs[1] - xs[0] < 8) return;
    const { x, y } = this.drawn;
    const ends = (values) => [Math.min(...values), Math.max(...values)];
    this.zoomTo({ x: ends(xs.map(x.invert)), y: both ? ends(ys.map(y.invert)) : null });
  }

  key(event) {
    if (event.key === "Escape") return this.leave();
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move || this.spec.type !== "lines") return undefined;
    event.preventDefault();
    const { frame, x } = this.drawn;
    const seen = this.spec.series.filter((one) => !this.hidden.has(one.name) && one.vertical === undefined);
    const places = [...new Set(seen.flatMap((one) => xsOf(this.spec, one).map(x)))]
      .filter((place) => place >= frame.left - 1 && place <= frame.right + 1)
      .sort((a, b) => a - b);
    const now = this.at ?? (move > 0 ? -Infinity : Infinity);
    const next = move > 0 ? places.find((place) => place > now + 0.01) : places.findLast((place) => place < now - 0.01);
    return next === undefined ? undefined : this.point(next, frame.top);
  }

  point(px, py) {
    const { frame, hover } = this.drawn;
    const outside = px < frame.left - 8 || px > frame.right + 8 || py < frame.top - 14 || py > frame.bottom + 8;
    const found = outside ? null : hover(px, py);
    if (!found) return this.leave();
    this.at = found.x;
    this.tip.replaceChildren();
    if (found.at) make("div", { class: "at" }, this.tip, found.at);
    for (const row of found.rows) {
      const line = make("div", { class: `row c${row.colour}` }, this.tip);
      make("i", {}, line);
      make("span", {}, line, row.name);
      make("b", {}, line, row.told);
    }
    this.tip.hidden = false;
    this.moveTip(found, py);
    if (found.y === null) {
      for (const [key, value] of Object.entries({ x1: found.x, x2: found.x, y1: frame.top, y2: frame.bottom, visibility: "visible" })) {
        this.cross.setAttribute(key, value);
      }
    }
    return undefined;
  }

  // Place the tooltip beside the pointer, on the side that has room.
  moveTip(found, py) {
    const size = this.svg.getBoundingClientRect().width / this.width;
    const [x, y] = [found.x * size, (found.y ?? py) * size];
    const { offsetWidth, offsetHeight } = this.tip;
    const room = this.canvas.clientWidth;
    const left = x + 14 + offsetWidth <= room ? x + 14 : x - 14 - offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(room - offsetWidth, left))}px`;
    this.tip.style.top = `${Math.max(0, Math.min(this.svg.clientHeight - offsetHeight, y - offsetHeight / 2))}px`;
  }

  leave() {
    this.at = null;
    this.tip.hidden = true;
    this.cross.setAttribute("visibility", "hidden");
    if (this.drawn.leave) this.drawn.leave();
  }
}

function drawCharts() {
  for (const figure of document.querySelectorAll("figure.chart")) ALL.push(new Chart(figure));
  let waiting = 0;
  const widths = new Map(ALL.map((chart) => [chart.canvas, chart]));
  new ResizeObserver((entries) => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      for (const chart of widths.values()) {
        const width = Math.round(chart.canvas.clientWidth);
        if (width && width !== chart.width) chart.draw();
      }
    });
  }).observe(document.querySelector(".page"));
}
