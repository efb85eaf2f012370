// The playground: two actions whose reward and time the reader can change, and what each estimate of the rate makes of them.
// The first half is mathematics and knows nothing of the page; a test compares it with the library's audit.
"use strict";

const Playground = (() => {
  // --- The mathematics ---------------------------------------------------------------

  // An action is {reward, spread, time, timeSpread, link}: its reward is reward ± spread, its time is time ± timeSpread
  // per cent, each with probability 1/2. The link says how they go together.
  const LINKS = { none: "independent", with: "longer pays more", against: "longer pays less" };

  function outcomes({ reward, spread, time, timeSpread, link }) {
    const rewards = [reward - spread, reward + spread];
    const times = [time * (1 - timeSpread / 100), time * (1 + timeSpread / 100)];
    const pairs = { none: [[0, 0], [0, 1], [1, 0], [1, 1]], with: [[0, 0], [1, 1]], against: [[0, 1], [1, 0]] }[link];
    return pairs.map(([i, j]) => ({ reward: rewards[i], time: times[j], share: 1 / pairs.length }));
  }

  // The mean of f over the outcomes, or over some of them and 0 elsewhere.
  function mean(all, f, where = () => true) {
    return all.filter(where).reduce((sum, one) => sum + one.share * f(one), 0);
  }

  const bySign = (all, of) =>
    [1, -1].reduce((sum, sign) => {
      const side = (one) => one.reward * sign > 0;
      const share = mean(all, () => 1, side);
      return share ? sum + of(share, side) : sum;
    }, 0);

  // What each estimate comes to while one action is taken for ever.
  const ESTIMATES = {
    Cumulative: (all) => mean(all, (one) => one.reward) / mean(all, (one) => one.time),
    MeanOfRates: (all) => mean(all, (one) => one.reward / one.time),
    Harmonic: (all) => bySign(all, (share, side) => share ** 2 / mean(all, (one) => one.time / one.reward, side)),
    WeightedHarmonic: (all) =>
      bySign(all, (share, side) => (share * mean(all, (one) => one.reward, side)) / mean(all, (one) => one.time, side)),
    Fixed: () => 0,
  };

  // What is left of an action's mean reward when its time is paid for at a rate.
  const left = (action, rate) => action.reward - rate * action.time;
  const gain = (action) => action.reward / action.time;
  const near = (x, y) => Math.abs(x - y) <= 1e-9 * Math.max(1, Math.abs(x), Math.abs(y));
  // The better of two actions by some measure: 0, 1, or null if they are equally good.
  function better(actions, measure) {
    const [a, b] = actions.map(measure);
    return near(a, b) ? null : Number(b > a);
  }

  // Follow an estimate: take the best action, see what the rate comes to, take what is best at that rate, and so on.
  // It comes to rest at an action, or goes back and forth between the two (null).
  function follow(actions, estimate) {
    const limits = actions.map((action) => estimate(outcomes(action)));
    const best = better(actions, gain);
    let taken = best ?? 0;
    const rate = limits[taken];
    for (let step = 0; step < 3; step += 1) {
      const next = better(actions, (action) => left(action, limits[taken])) ?? taken;
      if (next === taken) return { rate, first: best, settled: taken };
      taken = next;
    }
    return { rate, first: best, settled: null };
  }

  const judge = (actions) =>
    Object.fromEntries(Object.entries(ESTIMATES).map(([name, estimate]) => [name, follow(actions, estimate)]));

  // --- The page ----------------------------------------------------------------------

  const NAMES = ["A", "B"];
  const WORDS = {
    Cumulative: ["All reward ÷ all time", "SMART, Relaxed-SMART, R-Learning"],
    MeanOfRates: ["Mean of the rates", "the plain average of reward ÷ time"],
    Harmonic: ["Harmonic mean of the rates", "Harmonic R-Learning"],
    WeightedHarmonic: ["Harmonic mean, weighted by reward", "all reward ÷ all time while every reward is above 0"],
    Fixed: ["Time does not count", "reward per step: the rate is 0"],
  };
  const SLIDERS = {
    reward: { label: "reward", min: 0, max: 16, step: 0.5, unit: "" },
    spread: { label: "± reward", min: 0, max: 8, step: 0.5, unit: "" },
    time: { label: "time", min: 0.5, max: 6, step: 0.25, unit: " h" },
    timeSpread: { label: "± time", min: 0, max: 90, step: 5, unit: " %" },
  };
  const action = (reward, spread, time, timeSpread, link = "none") => ({ reward, spread, time, timeSpread, link });
  const SCENES = {
    "Rewards vary": {
      actions: [action(5, 4, 1, 0), action(12, 8, 4, 0)],
      shown: "Harmonic",
      says: "A earns 1 or 9 in an hour: 5 per hour. The harmonic mean of 1 and 9 is 1.8. It would be right for equal distances at these two speeds, but A takes equal times. Time looks cheap, and the long action looks good.",
    },
    "Times vary": {
      actions: [action(6, 0, 2, 90), action(2, 0, 1, 90)],
      shown: "MeanOfRates",
      says: "A always pays 6, sometimes after 12 minutes, sometimes after 3.8 hours. Here the harmonic mean is right, since all rewards of an action are equal. The plain mean counts the lucky 12 minutes as much as the long hours: time looks dear, and the short, poorer job looks good.",
    },
    "Sometimes nothing": {
      actions: [action(5, 5, 5, 80, "against"), action(2, 2, 2.5, 80, "against")],
      shown: "WeightedHarmonic",
      says: "A pays 10 after one hour or nothing after nine. Both harmonic means count the nine lost hours as one step among others, and say 5 per hour where 1 is earned. Time looks dear, and the shorter gamble looks good.",
    },
    "Paid by the hour": {
      actions: [action(8, 4, 4, 50, "with"), action(5, 2, 4, 40, "with")],
      shown: "Cumulative",
      says: "Whatever takes longer pays more, in proportion. Then every step has the same rate, and every mean of the rates is right.",
    },
  };

  const state = { actions: [], shown: "Harmonic" };
  const parts = {};

  function node(name, attributes = {}, ...children) {
    const svg = ["svg", "g", "line", "circle", "text", "rect", "path"].includes(name);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  const number = (x) => String(Number(x.toPrecision(3))).replace("-", "−");
  const hourly = (x) => `${number(x)} per hour`;

  // --- Reward over time: the slope of the line to a point is its rate.

  const PLANE = { width: 520, height: 350, left: 46, right: 14, top: 14, bottom: 40, time: [0, 12], reward: [-8, 24] };
  const REACH = 30; // of a finger, around a point
  const x = (time) => PLANE.left + ((time - PLANE.time[0]) / (PLANE.time[1] - PLANE.time[0])) * (PLANE.width - PLANE.left - PLANE.right);
  const y = (reward) =>
    PLANE.height - PLANE.bottom - ((reward - PLANE.reward[0]) / (PLANE.reward[1] - PLANE.reward[0])) * (PLANE.height - PLANE.top - PLANE.bottom);

  // The part of the line through (time, reward) with a slope that lies in the plane.
  function ray(time, reward, slope, from = 0) {
    let [start, end] = [from, PLANE.time[1]];
    if (slope !== 0) {
      const cuts = PLANE.reward.map((edge) => time + (edge - reward) / slope).sort((p, q) => p - q);
      [start, end] = [Math.max(start, cuts[0]), Math.min(end, cuts[1])];
    }
    if (start >= end) return { x1: x(time), y1: y(reward), x2: x(time), y2: y(reward) };
    const at = (t) => y(reward + slope * (t - time));
    return { x1: x(start), y1: at(start), x2: x(end), y2: at(end) };
  }

  function drawAxes() {
    const axes = node("g", { class: "axes" });
    for (let t = 0; t <= 12; t += 2) {
      axes.append(node("text", { x: x(t), y: PLANE.height - PLANE.bottom + 18, "text-anchor": "middle" }, String(t)));
    }
    for (let r = -8; r <= 24; r += 8) {
      axes.append(node("line", { x1: x(0), x2: x(12), y1: y(r), y2: y(r), class: r ? "grid" : "zero" }));
      axes.append(node("text", { x: PLANE.left - 8, y: y(r) + 4, "text-anchor": "end" }, number(r)));
    }
    axes.append(node("line", { x1: x(0), x2: x(0), y1: y(-8), y2: y(24), class: "zero" }));
    axes.append(node("text", { x: x(12), y: PLANE.height - 6, "text-anchor": "end" }, "time, hours"));
    axes.append(node("text", { x: x(0) + 8, y: y(-8) - 8 }, "reward"));
    return axes;
  }

  // Slopes in numbers, where their rays leave the plane; those that would stand on each other move aside.
  function slopeLabels(slopes) {
    const ends = slopes.map(([slope, kind]) => ({ slope, kind, ...ray(0, 0, slope) })).sort((p, q) => p.x2 - q.x2 || p.y2 - q.y2);
    const steep = (slope) => Math.max(0, (y(0) - y(slope)) / (x(1) - x(0)));
    let [furthest, lowest] = [0, 0];
    return ends.map(({ slope, kind, x2, y2 }, place) => {
      const aside = x2 >= x(10.5);
      if (aside) lowest = Math.max(lowest + 18, y2 + 16 + 50 * steep(slope));
      else furthest = Math.min(Math.max(furthest + 76, x2 + 6), PLANE.width - 76 * (ends.length - place));
      const where = aside ? { x: x2, y: lowest, "text-anchor": "end" } : { x: furthest, y: slope < 0 ? y2 - 6 : y2 + 13 };
      return node("text", { ...where, class: `slope ${kind}` }, `${number(slope)} / h`);
    });
  }

  function drawMarks() {
    const { rate } = judge(state.actions)[state.shown];
    const marks = [node("line", { ...ray(0, 0, rate), class: "price" })];
    const slopes = state.actions.map((one, i) => [gain(one), `of-${i}`]);
    if (near(slopes[0][0], slopes[1][0])) slopes.pop();
    if (!slopes.some(([slope]) => near(slope, rate))) slopes.push([rate, "price"]);
    state.actions.forEach((one, i) => {
      marks.push(node("line", { ...ray(0, 0, gain(one)), class: `rate of-${i}` }));
      marks.push(node("line", { ...ray(one.time, one.reward, rate), class: `worth of-${i}` }));
      const worth = left(one, rate);
      if (worth >= PLANE.reward[0] && worth <= PLANE.reward[1]) {
        marks.push(node("rect", { x: x(0) - 4, y: y(worth) - 4, width: 8, height: 8, class: `left of-${i}` }));
      }
      for (const { reward, time } of outcomes(one)) {
        marks.push(node("circle", { cx: x(time), cy: y(reward), r: 4, class: `outcome of-${i}` }));
      }
    });
    parts.marks.replaceChildren(...marks, ...slopeLabels(slopes));
    state.actions.forEach((one, i) => {
      parts.handles[i].setAttribute("transform", `translate(${x(one.time)} ${y(one.reward)})`);
    });
  }

  // Where in the drawing a pointer is.
  function placeOf({ clientX, clientY }) {
    const box = parts.plane.getBoundingClientRect();
    return [((clientX - box.left) / box.width) * PLANE.width, ((clientY - box.top) / box.height) * PLANE.height];
  }

  // Which point a pointer reaches, the nearer one where it reaches both; null if none.
  function reached(pointer) {
    const [across, down] = placeOf(pointer);
    const [a, b] = state.actions.map((one) => Math.hypot(x(one.time) - across, y(one.reward) - down));
    return Math.min(a, b) > REACH ? null : Number(b <= a);
  }

  function dragTo(i, event) {
    const [across, down] = placeOf(event);
    set(i, "time", (across - x(0)) / (x(1) - x(0)));
    set(i, "reward", (down - y(0)) / (y(1) - y(0)));
    show();
  }

  function set(i, name, value) {
    const { min, max, step } = SLIDERS[name];
    state.actions[i][name] = Math.min(max, Math.max(min, Math.round(value / step) * step));
    state.scene = null;
  }

  function makeHandle(i) {
    return node("g", { class: `handle of-${i}` }, node("circle", { r: REACH, class: "reach" }), node("circle", { r: 13 }), node("text", { y: 5, "text-anchor": "middle" }, NAMES[i]));
  }

  function makeDraggable(plane) {
    let held = null;
    plane.addEventListener("pointerdown", (event) => {
      held = reached(event);
      if (held === null) return;
      event.preventDefault();
      plane.setPointerCapture(event.pointerId);
    });
    plane.addEventListener("pointermove", (event) => {
      if (held !== null) dragTo(held, event);
    });
    for (const end of ["pointerup", "pointercancel"]) plane.addEventListener(end, () => { held = null; });
    // A finger on a point does not scroll the page; browsers ignore what a style says of parts of a drawing.
    plane.addEventListener("touchstart", (event) => { if (reached(event.touches[0]) !== null) event.preventDefault(); }, { passive: false });
  }

  // --- The controls.

  function makeSlider(i, name) {
    const { label, min, max, step } = SLIDERS[name];
    const id = `play-${NAMES[i]}-${name}`;
    const input = node("input", { type: "range", id, min, max, step, oninput: () => { set(i, name, input.valueAsNumber); show(); } });
    const output = node("output", { for: id });
    parts.inputs.push(() => {
      const value = state.actions[i][name];
      input.value = value;
      output.textContent = number(value) + SLIDERS[name].unit;
      input.setAttribute("aria-valuetext", output.textContent);
    });
    return node("div", { class: "slider" }, node("label", { for: id }, label), input, output);
  }

  function makeControls(i) {
    const id = `play-${NAMES[i]}-link`;
    const options = Object.entries(LINKS).map(([value, label]) => node("option", { value }, label));
    const link = node("select", { id, onchange: () => { state.actions[i].link = link.value; state.scene = null; show(); } }, ...options);
    const earned = node("p", { class: "earned" });
    parts.inputs.push(() => {
      link.value = state.actions[i].link;
      const one = state.actions[i];
      earned.textContent = `earns ${number(one.reward)} ÷ ${number(one.time)} h = ${hourly(gain(one))}`;
    });
    return node("fieldset", { class: `of-${i}` }, node("legend", {}, `Action ${NAMES[i]}`), earned,
      ...Object.keys(SLIDERS).map((name) => makeSlider(i, name)),
      node("div", { class: "slider" }, node("label", { for: id }, "relation"), link));
  }

  // --- The estimates.

  function makeRow(name) {
    const id = `play-${name}`;
    const radio = node("input", { type: "radio", name: "play-estimate", id, value: name, onchange: () => { state.shown = name; show(); } });
    const [words, whose] = WORDS[name];
    const cells = ["rate", "leads", "earns"].map((kind) => node("td", { class: kind }));
    const row = node("tr", { onclick: () => { state.shown = name; show(); } },
      node("th", { scope: "row" }, node("div", {}, radio, node("label", { for: id }, words, node("small", {}, whose)))), ...cells);
    parts.inputs.push((judged) => {
      const { rate, settled } = judged[name];
      const best = Math.max(...state.actions.map(gain));
      const earned = settled === null ? null : gain(state.actions[settled]);
      const harmless = earned !== null && near(earned, best);
      radio.checked = state.shown === name;
      row.classList.toggle("shown", radio.checked);
      cells[0].textContent = number(rate);
      cells[0].classList.toggle("right", near(rate, best));
      cells[1].replaceChildren(...(settled === null ? ["A and B in turn"] : [node("b", { class: `of-${settled}` }, NAMES[settled])]));
      cells[2].textContent = earned === null ? "" : number(earned) + (harmless ? "" : ` (${number(best)} is possible)`);
      row.classList.toggle("harm", !harmless);
    });
    return row;
  }

  function sentence(judged) {
    const { rate, first, settled } = judged[state.shown];
    const [a, b] = state.actions;
    const words = WORDS[state.shown][0];
    const begin = first === null ? "A and B earn the same" : `${NAMES[first]} earns more`;
    const price = state.shown === "Fixed" ? "an hour costs nothing" : `an hour costs ${number(rate)}`;
    const worth = [a, b].map((one, i) => `${NAMES[i]}: ${number(one.reward)} − ${rate < 0 ? `(${number(rate)})` : number(rate)} × ${number(one.time)} = ${number(left(one, rate))}`.replaceAll(" ", "\u00a0"));
    const taken = settled === null ? "the agent goes back and forth"
      : settled === first || first === null ? `it stays with ${NAMES[settled]}` : `it ends with ${NAMES[settled]}, the worse one`;
    return `${begin}. By “${words}”, ${price}. What is left after paying for the time: ${worth.join("; ")}. So ${taken}.`;
  }

  function show() {
    const judged = judge(state.actions);
    for (const update of parts.inputs) update(judged);
    for (const [name, button] of Object.entries(parts.scenes)) button.setAttribute("aria-pressed", String(state.scene === name));
    parts.says.textContent = state.scene ? SCENES[state.scene].says : "Your own numbers.";
    parts.sentence.textContent = sentence(judged);
    drawMarks();
  }

  function choose(name) {
    const scene = SCENES[name];
    Object.assign(state, { scene: name, shown: scene.shown, actions: scene.actions.map((one) => ({ ...one })) });
    show();
  }

  function start(place) {
    parts.inputs = [];
    parts.scenes = Object.fromEntries(Object.keys(SCENES).map((name) => [name, node("button", { type: "button", onclick: () => choose(name) }, name)]));
    parts.says = node("p", { class: "says" });
    parts.sentence = node("p", { class: "sentence", role: "status" });
    parts.marks = node("g");
    parts.handles = [makeHandle(0), makeHandle(1)];
    parts.plane = node("svg", { viewBox: `0 0 ${PLANE.width} ${PLANE.height}`, role: "img", "aria-label": "Reward over time of both actions; the slope of the line to a point is its reward per hour. The sliders below move the points." },
      drawAxes(), parts.marks, ...parts.handles);
    makeDraggable(parts.plane);
    const head = ["the estimate", "says, per hour", "leads to", "which earns"].map((words) => node("th", { scope: "col" }, words));
    place.replaceChildren(
      node("div", { class: "scenes", role: "group", "aria-label": "Examples" }, ...Object.values(parts.scenes)),
      parts.says,
      node("div", { class: "board" }, parts.plane, parts.sentence, node("div", { class: "controls" }, makeControls(0), makeControls(1))),
      node("table", { class: "estimates" }, node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...Object.keys(WORDS).map(makeRow))),
    );
    choose("Rewards vary");
  }

  return { ESTIMATES, SCENES, outcomes, judge, start };
})();

Playground.start(document.getElementById("playground"));
