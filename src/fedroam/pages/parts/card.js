// One run's card: its name, the figures of the present round, map and charts.

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

const aboutOf = ({ about }) => [about.policy, `seed ${about.seed}`, `${about.users} users`, `${about.stations} stations`]
  .filter((text) => text !== about.label).join(" · ");

const FACTS = {
  round: "Users are chosen, compute, send; when the last update has arrived, the next round begins.",
  length: "Simulated seconds from the beginning of the round to its last update.",
  bound: "No lawful schedule makes this round shorter; the percentage: by how much it is longer.",
  chosen: "Users that take part in this round.",
  required: "Users whose right to take part was due in this round.",
  straggler: "The user that finishes last, on which all others wait.",
  accuracy: "On the test set, when it was last evaluated.",
};

class Card {
  constructor(run, app) {
    this.run = run;
    this.app = app;
    const { about } = run;
    this.element = make("article", "card");
    this.element.setAttribute("aria-label", about.label);
    const head = make("header");
    const title = make("h2", "", about.label);
    title.style.setProperty("--colour", `var(--run-${run.index % 8})`);
    title.title = about.label;
    head.append(title, make("p", "sub", aboutOf(run)));
    this.element.append(head, this.makeFacts());
    const map = make("div", "map");
    const canvas = make("canvas");
    map.append(canvas);
    if (!run.hasUsers) map.append(make("p", "note", run.isEmpty ? "No rounds yet." : "This run kept no user detail (record.detail), so nobody is on the map."));
    this.note = map.querySelector(".note");
    this.side = make("div", "side");
    this.element.append(map, this.side);
    this.views = [new MapView(canvas, run, app)];
    this.add("finish", "Finish times", "grey: computing · colour: sending", FinishChart);
    this.add("bands", "Bandwidth", "each block: a user's share", BandChart);
    const hints = [about.users <= 240 ? "grey: not now" : "", about.rho1 > 0 ? `dashed: ${percent(about.rho1, 0)} due` : ""];
    if (run.hasChosen || run.isEmpty) this.add("took", "Participation", hints.filter(Boolean).join(" · "), TookChart);
    for (const view of this.views) app.listen(view, canvasOf(view));
  }

  makeFacts() {
    const list = make("dl", "facts");
    this.facts = {};
    for (const [name, meaning] of Object.entries(FACTS)) {
      if (name === "accuracy" && !this.run.learns) continue;
      if (name === "bound" && !this.run.hasBounds && !this.run.isEmpty) continue;
      const box = make("div"), value = make("dd");
      value.dataset.fact = name;
      box.title = meaning;
      box.append(make("dt", "", name), value);
      list.append(box);
      this.facts[name] = value;
    }
    return list;
  }

  add(className, heading, hint, Chart) {
    const part = make("section", `part ${className}`);
    const title = make("h3", "", heading);
    title.append(make("span", "", hint));
    const canvas = make("canvas");
    part.append(title, canvas);
    this.side.append(part);
    this.views.push(new Chart(canvas, this.run, this.app));
  }

  draw(t) {
    if (this.note && this.run.hasUsers) { this.note.remove(); this.note = null; }
    this.tell(t);
    for (const view of this.views) view.draw(t);
  }

  set(name, value, text, small = "", isBad = false) {
    const element = this.facts[name];
    if (!element) return;
    const key = `${text}|${small}|${isBad}`;
    if (element.dataset.value !== String(value)) element.dataset.value = String(value);
    if (element.key === key) return;
    element.key = key;
    element.textContent = text;
    if (small) element.append(" ", make("small", isBad ? "warn" : "", small));
    element.title = typeof value === "number" && value === value ? String(value) : "";
  }

  tell(t) {
    const { run } = this;
    if (run.isEmpty) { for (const name of Object.keys(FACTS)) this.set(name, "", "–"); return; }
    const r = run.roundAt(t), a = run.a, length = a.length_s[r], bound = a.bound_s[r];
    const isOver = t > run.end;
    this.set("round", run.first + r, String(run.first + r), isOver ? "ended" : `of ${run.first + run.rounds}`);
    this.set("length", length, seconds(length));
    const gap = length / bound - 1;
    this.set("bound", bound, seconds(bound), gap === gap ? `+${percent(gap, gap < 1 ? 1 : 0)}` : "");
    this.set("chosen", a.n_selected[r], String(a.n_selected[r]), `of ${run.users}${a.n_lacking[r] ? `, ${a.n_lacking[r]} too few` : ""}`, a.n_lacking[r] > 0);
    this.set("required", a.n_forced[r], String(a.n_forced[r]), a.n_missed[r] ? `${a.n_missed[r]} left out` : "", true);
    this.set("straggler", a.straggler[r], a.straggler[r] < 0 ? "–" : `user ${a.straggler[r]}`);
    const accuracy = run.accuracyAt(t);
    this.set("accuracy", accuracy, percent(accuracy));
  }
}

const canvasOf = (view) => view.canvas.element;

// What is said of a user or station where the pointer is.
function describe(found, t) {
  const { run } = found, r = run.isEmpty ? 0 : run.roundAt(t), lines = [];
  if (found.user !== undefined) {
    const u = found.user, sheet = run.sheetOf(r), k = sheet.place[u], counts = run.countsAt(r);
    const isRequired = run.hasUsers && run.isRequired(r, u);
    if (k >= 0 && sheet.finish) {
      const s = run.stationOf(r, u);
      lines.push(`station ${s}, ${hertz(sheet.share[k] * run.a.capacity_hz[s])} (${percent(sheet.share[k])} of its band)`);
      lines.push(`ready after ${seconds(run.a.ready_s[u])}, finished after ${seconds(sheet.finish[k])}`);
      if (u === run.a.straggler[r]) lines.push("the straggler: the round ends with it");
    } else lines.push(k >= 0 ? "chosen" : isRequired ? "required, but left out" : "left out of this round");
    if (isRequired && k >= 0) lines.push("required: its right to take part was due");
    lines.push(`took part in ${counts[u]} of ${r + 1} rounds (${percent(counts[u] / (r + 1), 0)})`);
    return [`user ${u}`, lines];
  }
  if (found.station !== undefined) {
    const s = found.station, n = run.isEmpty ? 0 : run.sheetOf(r).byStation[s].length;
    lines.push(`${hertz(run.a.capacity_hz[s])}`);
    if (!run.isEmpty) {
      const load = run.a.station_load[r * run.stations + s], last = run.a.station_s[r * run.stations + s];
      if (run.hasUsers) lines.push(`${n} users in this round`);
      lines.push(`${percent(load)} of the band in use`, last === last ? `its last update after ${seconds(last)}` : "idle");
    }
    return [`station ${s}`, lines];
  }
  return null;
}
