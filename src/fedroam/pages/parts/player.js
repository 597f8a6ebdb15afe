// The one clock of all runs, and what moves it.

const SPEEDS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const TICKS = 1e6; // steps of the slider

class Player {
  constructor(app) {
    this.app = app;
    this.isPlaying = false;
    this.last = 0;
    for (const id of ["first", "back", "play", "on", "clock", "time", "speed", "ribbon"]) {
      this[id] = document.getElementById(id);
    }
    this.shape = document.getElementById("play-shape");
    for (const speed of SPEEDS) this.speed.add(new Option(`${speed} ×`, speed));
    this.setSpeed();
    this.ribbonCanvas = new Canvas(this.ribbon, () => this.time.clientHeight || 38);
    this.first.onclick = () => this.seek(0);
    this.back.onclick = () => this.step(-1);
    this.on.onclick = () => this.step(1);
    this.play.onclick = () => this.toggle();
    this.time.oninput = () => this.seek((this.time.value / TICKS) * app.end, false);
    this.speed.onchange = () => this.speed.blur();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  // A round of ordinary length takes about a second and a half.
  setSpeed() {
    const run = this.app.runs.find((one) => !one.isEmpty);
    const wish = run ? quantile(run.a.length_s, 0.5) / 1.5 : 1;
    const nearest = [...SPEEDS].sort((a, b) => Math.abs(Math.log(a / wish)) - Math.abs(Math.log(b / wish)));
    this.speed.value = nearest[0];
  }

  get rate() { return Number(this.speed.value); }

  toggle(play = !this.isPlaying) {
    const { app } = this;
    if (play && app.t >= app.end && !app.live) app.t = 0;
    this.isPlaying = play;
    this.last = performance.now();
    this.shape.setAttribute("d", play ? "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z" : "M4 2.5v11l9-5.5z");
    this.play.setAttribute("aria-label", play ? "Pause" : "Play");
    app.ask();
  }

  seek(t, moveSlider = true) {
    const { app } = this;
    app.t = Math.max(0, Math.min(app.end, t));
    if (moveSlider) this.time.value = app.end ? (app.t / app.end) * TICKS : 0;
    app.ask();
  }

  // To the start of the round before or after, by the rounds of the first run.
  step(by) {
    const { app } = this, run = app.lead;
    this.toggle(false);
    if (!run) return;
    const r = run.roundAt(app.t), isInside = app.t > run.a.start_s[r] + 1e-9;
    const target = by < 0 && isInside ? r + by + 1 : r + by;
    if (target >= run.rounds) this.seek(app.end);
    else this.seek(run.a.start_s[Math.max(0, target)]);
  }

  faster(by) {
    const at = SPEEDS.indexOf(this.rate);
    this.speed.value = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at + by))];
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("keys").open) return;
    if (event.target instanceof HTMLSelectElement) return;
    const { app } = this, run = app.lead;
    const part = run && !run.isEmpty ? run.a.length_s[run.roundAt(app.t)] / 20 : 0;
    const acts = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.step(event.shiftKey ? -10 : -1),
      ArrowRight: () => this.step(event.shiftKey ? 10 : 1),
      ",": () => { this.toggle(false); this.seek(app.t - part); },
      ".": () => { this.toggle(false); this.seek(app.t + part); },
      Home: () => this.seek(0),
      End: () => this.seek(app.end),
      "+": () => this.faster(1),
      "=": () => this.faster(1),
      "-": () => this.faster(-1),
      s: () => app.followStraggler(),
      u: () => app.followNext(-1),
      i: () => app.followNext(1),
      d: () => app.switchTheme(),
      Escape: () => app.follow(null),
      "?": () => document.getElementById("keys").showModal(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    if (event.target instanceof HTMLButtonElement && event.key === " ") event.target.blur();
    act();
    app.ask();
  }

  tick(now) {
    const { app } = this;
    if (!this.isPlaying) return;
    const spent = Math.min(0.1, (now - this.last) / 1000); // a page in the background does not leap
    this.last = now;
    this.seek(app.t + spent * this.rate);
    if (app.t >= app.end && !app.live) this.toggle(false);
  }

  show() {
    const { app } = this, run = app.lead;
    const text = run && !run.isEmpty ? `${seconds(app.t)} of ${seconds(app.end)}` : "no rounds yet";
    if (this.clock.textContent !== text) this.clock.textContent = text;
    if (run && !run.isEmpty) {
      this.time.setAttribute("aria-valuetext", `${seconds(app.t)}, round ${run.first + run.roundAt(app.t)}`);
      this.drawRibbon(run);
    }
  }

  // The rounds of the first run in time: the higher, the longer.
  drawRibbon(run) {
    const ctx = this.ribbonCanvas.begin(), { width, height } = this.ribbonCanvas;
    const top = Math.max(quantile(run.a.length_s, 0.98), 1e-12), past = app_x(this.app, width);
    for (let pass = 0; pass < 2; pass++) {
      ctx.fillStyle = hue(pass ? "accent" : "left-out");
      ctx.globalAlpha = pass ? 0.55 : 0.38;
      ctx.save();
      ctx.beginPath();
      ctx.rect(pass ? 0 : past, 0, pass ? past : width, height);
      ctx.clip();
      for (let r = 0; r < run.rounds; r++) {
        const x = (run.a.start_s[r] / this.app.end) * width, wide = (run.a.length_s[r] / this.app.end) * width;
        const tall = Math.min(1, run.a.length_s[r] / top) * (height - 4);
        ctx.fillRect(x, height - tall, wide > 3 ? wide - 1 : Math.max(wide, 0.5), tall);
      }
      ctx.restore();
    }
    ctx.globalAlpha = 1;
  }
}

const app_x = (app, width) => (app.end ? (app.t / app.end) * width : 0);
