// The page: cards for the runs, shared curves, pointer, and, for a run that goes on, what is new.

const given = JSON.parse(document.getElementById("data").textContent);
const REFRESH_MS = 1000;
const NARROWEST = 340, GAP = 14; // css pixels of cards, and between them

class App {
  constructor() {
    this.runs = given.runs.map((packed, i) => new Run(packed, i));
    this.t = 0;
    this.live = given.live;
    this.hover = null;
    this.followed = null;
    this.isAsked = false;
    this.pointed = new Map(); // canvas -> what finds things on it
    this.tip = document.getElementById("tip");
    this.measure();
    this.title();
    const home = document.getElementById("runs");
    home.classList.toggle("one", this.runs.length === 1);
    this.cards = this.runs.map((run) => new Card(run, this));
    home.append(...this.cards.map((card) => card.element));
    this.arrange();
    this.curves = this.makeCurves();
    this.player = new Player(this);
    this.drawScale();
    this.bind();
    this.goToHash();
  }

  get lead() { return this.runs[0]; }

  // What depends on all that is known: the end, and which finish times are early and late.
  measure() {
    this.end = Math.max(0, ...this.runs.map((run) => run.end));
    const some = [], lengths = [];
    for (const run of this.runs) {
      const finish = run.hasUsers ? run.a.finish_s : run.a.length_s;
      const every = Math.max(1, Math.floor(finish.length / 20000));
      for (let k = 0; k < finish.length; k += every) some.push(finish[k]);
      for (const length of run.a.length_s) lengths.push(length);
    }
    this.ordinary = quantile(lengths, 0.5);
    this.usual = Math.max(0, ...this.runs.map((run) => quantile(run.a.length_s, 0.9)));
    // Late is what ends an ordinary round: a few long ones would leave one colour to all others.
    this.early = quantile(some, 0.03);
    this.late = Math.max(quantile(lengths, 0.85), this.early + 1e-9);
  }

  // How high a chart is: as it is drawn, or, beside the map, stretched to reach as far down as it.
  tall(alone, beside) {
    const map = this.cards ? this.cards[0].views[0].canvas.height : 0;
    if (this.isRoomy) return beside * Math.max(0.8, (map - 88) / 326);
    if (this.runs.length > 1) return beside;
    return innerWidth > 900 ? alone * Math.max(1, (map - 112) / 476) : alone;
  }

  shade(finish) {
    const place = (finish - this.early) / (this.late - this.early);
    return Math.max(0, Math.min(SHADES - 1, Math.floor(place * SHADES)));
  }

  isLit(run, user) {
    return user === this.followed || Boolean(this.hover && this.hover.run === run && this.hover.user === user);
  }

  title() {
    const names = this.runs.map((run) => run.about.name);
    const same = names.every((name) => name === names[0]);
    const text = this.runs.length === 1 ? names[0] : same ? `${names[0]}: ${this.runs.length} runs` : `${this.runs.length} runs, one clock`;
    document.getElementById("title").textContent = text;
    if (this.runs.length === 1) document.getElementById("about").textContent = aboutOf(this.lead);
  }

  // Rows of equally many cards: six are three and three rather than four and two.
  arrange() {
    const home = document.getElementById("runs"), n = this.runs.length;
    const room = Math.max(1, Math.floor((home.clientWidth + GAP) / (NARROWEST + GAP)));
    const columns = Math.ceil(n / Math.ceil(n / room));
    home.style.setProperty("--columns", columns);
    this.isRoomy = n > 1 && home.clientWidth / columns > 660;
    home.classList.toggle("roomy", this.isRoomy);
  }

  makeCurves() {
    const shared = document.getElementById("shared"), curves = [];
    if (this.runs.length === 1) this.cards[0].side.append(shared); // all of it at one look
    const add = (heading, hint, options) => {
      const panel = make("section", "panel"), title = make("h3", "", heading);
      title.append(make("span", "", hint));
      const canvas = make("canvas"), legend = this.runs.length > 1 ? new CurveLegend(this.runs) : null;
      panel.append(title, ...(legend ? [legend.element] : []), canvas);
      shared.append(panel);
      const chart = new CurveChart(canvas, this, { label: heading, legend, ...options });
      canvas.addEventListener("click", (event) => this.player.seek(chart.timeAt(event.offsetX)));
      this.listen(chart, canvas);
      curves.push(chart);
    };
    if (this.runs.some((run) => run.learns)) {
      const best = Math.max(...this.runs.map((run) => run.a.accuracy.reduce((m, v) => (v > m ? v : m), 0)));
      add("Test accuracy", "over simulated seconds", {
        valuesOf: (run) => run.a.accuracy, tell: (x) => percent(x), format: (x) => `${Math.round(100 * x)} %`, isStepped: false,
        top: best > 0.5 ? 1 : undefined,
      });
    }
    // A run that has not begun may have bounds when it has.
    const isBounded = this.runs.some((run) => run.hasBounds || run.isEmpty);
    add("Round lengths", isBounded ? "dotted: the bound, where known" : "over simulated seconds", {
      valuesOf: (run) => run.a.length_s, boundsOf: (run) => run.a.bound_s,
      tell: seconds, format: (x) => short(x), isStepped: true,
    });
    return curves;
  }

  drawScale() {
    const ctx = document.getElementById("scale").getContext("2d");
    theme.ramp.forEach((shade, i) => { ctx.fillStyle = shade; ctx.fillRect((i * 260) / SHADES, 0, 260 / SHADES + 1, 18); });
    document.getElementById("scale-low").textContent = `≤ ${seconds(this.early)}`;
    document.getElementById("scale-high").textContent = `≥ ${seconds(this.late)}`;
  }

  switchTheme() {
    switchTheme();
    this.drawScale();
    this.ask();
  }

  follow(user) {
    this.followed = user === this.followed ? null : user;
    this.ask();
  }

  followStraggler() {
    const run = this.lead;
    if (run && !run.isEmpty) { this.followed = run.a.straggler[run.roundAt(this.t)]; this.ask(); }
  }

  followNext(by) {
    const n = this.lead ? this.lead.users : 0;
    if (n) { this.followed = ((this.followed === null ? (by > 0 ? -1 : 0) : this.followed) + by + n) % n; this.ask(); }
  }

  listen(view, canvas) {
    this.pointed.set(canvas, view);
    canvas.addEventListener("pointermove", (event) => this.point(view, event));
    canvas.addEventListener("pointerdown", (event) => this.point(view, event));
    canvas.addEventListener("pointerleave", () => { this.hover = null; this.tip.hidden = true; this.ask(); });
    if (view.at) {
      canvas.addEventListener("click", (event) => {
        const found = view.at(event.offsetX, event.offsetY);
        if (found && found.user !== undefined) this.follow(found.user);
      });
    }
  }

  point(view, event) {
    this.pointer = { x: event.clientX, y: event.clientY, view, at: [event.offsetX, event.offsetY] };
    this.hover = view.at ? view.at(event.offsetX, event.offsetY) : null;
    this.showTip();
    this.ask();
  }

  showTip() {
    const { pointer, tip } = this;
    let said = null;
    if (pointer && this.hover) said = describe(this.hover, this.t);
    else if (pointer && pointer.view instanceof CurveChart) {
      const t = pointer.view.timeAt(pointer.at[0]);
      const lines = this.runs.filter((run) => !run.isEmpty).map((run) => {
        const value = pointer.view.valueAt(run, t);
        const text = pointer.view.isStepped ? seconds(value) : percent(value, 2);
        return this.runs.length > 1 ? `${run.about.label}: ${text}` : text;
      });
      said = [seconds(t), lines];
    }
    tip.hidden = !said;
    if (!said) return;
    tip.replaceChildren(make("strong", "", said[0]), ...said[1].map((text) => make("span", "", text)));
    const { offsetWidth: w, offsetHeight: h } = tip;
    const x = pointer.x + 16 + w > innerWidth ? pointer.x - w - 12 : pointer.x + 16;
    const y = pointer.y + 18 + h > innerHeight ? pointer.y - h - 12 : pointer.y + 18;
    tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
  }

  bind() {
    document.getElementById("theme").onclick = () => this.switchTheme();
    const keys = document.getElementById("keys");
    document.getElementById("help").onclick = () => keys.showModal();
    document.getElementById("close").onclick = () => keys.close();
    keys.onclick = (event) => { if (event.target === keys) keys.close(); };
    addEventListener("resize", () => { this.arrange(); this.ask(); });
    addEventListener("hashchange", () => this.goToHash());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); this.drawScale(); this.ask(); });
  }

  // #t=12.5 or #round=30: a moment to begin at; otherwise the run plays, unless motion is unwanted.
  goToHash() {
    const wish = /^#(t|round)=([\d.]+)$/.exec(location.hash), run = this.lead;
    if (wish && run && !run.isEmpty) {
      const value = Number(wish[2]);
      const r = Math.max(0, Math.min(run.rounds - 1, Math.floor(value) - run.first));
      this.player.toggle(false);
      this.player.seek(wish[1] === "t" ? value : run.a.start_s[r]);
    } else if (this.live && this.end) this.player.seek(this.end - 1e-9);
    else this.player.toggle(!matchMedia("(prefers-reduced-motion: reduce)").matches && this.end > 0);
    this.ask();
  }

  ask() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.isAsked = false;
    this.player.tick(now);
    for (const card of this.cards) card.draw(this.t);
    for (const curve of this.curves) curve.draw(this.t);
    this.player.show();
    if (this.hover && !this.tip.hidden) this.showTip();
    this.frames = (this.frames || 0) + 1;
    if (this.player.isPlaying) this.ask();
  }
}

const app = new App();
if (app.live) follow(app);
document.documentElement.dataset.ready = "yes";
