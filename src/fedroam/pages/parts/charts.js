// What happens in the present round: finish times against the bound, and how bands are shared.

class FinishChart {
  constructor(element, run, app) {
    this.run = run;
    this.app = app;
    this.canvas = new Canvas(element, () => app.tall(170, 150), "Finish times of the chosen against the bound");
  }

  draw(t) {
    const { run } = this, ctx = this.canvas.begin(), { width, height } = this.canvas;
    if (run.isEmpty) return;
    const r = run.roundAt(t), length = run.a.length_s[r], bound = run.a.bound_s[r];
    const sheet = run.sheetOf(r), now = Math.min(length, t - run.a.start_s[r]);
    const end = Math.max(length, this.app.usual) * 1.02;
    const top = 30, bottom = height - 18;
    this.top = top;
    this.step = sheet.n ? (bottom - top) / sheet.n : 0;
    const x = (s) => (s / end) * (width - 2) + 1;
    for (const mark of marks(end, 5)) {
      line(ctx, x(mark), top, x(mark), bottom, hue("line"));
      write(ctx, mark ? short(mark) : "0 s", x(mark), height - 4, { align: !mark ? "left" : x(mark) > width - 12 ? "right" : "center" });
    }
    if (sheet.finish) this.drawBars(ctx, sheet, x, now);
    else write(ctx, "finish times were not recorded", width / 2, (top + bottom) / 2, { align: "center" });
    if (!run.hasBounds) write(ctx, "no bound is known: fedroam certify RUN finds one", 0, 10, { fill: hue("faint") });
    line(ctx, x(now), top, x(now), bottom, hue("ink"), 1);
    this.drawLimits(ctx, x, r, length, bound, bottom);
  }

  drawBars(ctx, sheet, x, now) {
    const { run, step, top } = this, thick = Math.max(0.6, step > 3 ? step - 1 : step);
    sheet.order.forEach((k, row) => {
      const u = sheet.user[k], y = top + row * step, ready = run.a.ready_s[u];
      const isLit = this.app.isLit(run, u);
      ctx.fillStyle = hue("left-out");
      ctx.globalAlpha = isLit ? 0.9 : 0.4;
      ctx.fillRect(x(0), y, x(ready) - x(0), thick);
      ctx.fillStyle = theme.ramp[this.app.shade(sheet.finish[k])];
      const sent = Math.max(ready, Math.min(now, sheet.finish[k]));
      ctx.globalAlpha = 1;
      ctx.fillRect(x(ready), y, x(sent) - x(ready), thick);
      ctx.globalAlpha = isLit ? 0.8 : 0.36;
      ctx.fillRect(x(sent), y, x(sheet.finish[k]) - x(sent), thick);
      ctx.globalAlpha = 1;
      if (step >= 9) write(ctx, String(u), x(0) + 4, y + thick / 2 + 0.5, { size: Math.min(11, step - 1.5), fill: hue("ink"), base: "middle" });
    });
  }

  drawLimits(ctx, x, r, length, bound, bottom) {
    const straggler = this.run.a.straggler[r], isBounded = bound === bound;
    if (isBounded) line(ctx, x(bound), 2, x(bound), bottom, hue("good"), 1.5, [4, 3]);
    line(ctx, x(length), 15, x(length), bottom, hue("warn"), 1.5);
    const who = straggler >= 0 ? `user ${straggler} is last: ${seconds(length)}` : `nobody takes part: ${seconds(length)}`;
    this.name(ctx, [who], x(length), 24, "warn", false);
    const limit = `bound ${seconds(bound)}`;
    if (isBounded) this.name(ctx, [`${limit}, no schedule ends sooner`, limit], x(bound), 10, "good", true);
  }

  // The first of the texts for which there is room on one side of a line, or else the last.
  name(ctx, texts, x, y, colour, prefersLeft) {
    const left = x - 5, right = this.canvas.width - x - 5;
    const text = texts.find((one) => widthOf(ctx, one, 11, 600) <= Math.max(left, right)) || texts.at(-1);
    const wide = widthOf(ctx, text, 11, 600), fits = wide <= (prefersLeft ? left : right);
    const isLeft = fits ? prefersLeft : left > right;
    write(ctx, text, x + (isLeft ? -5 : 5), y, { fill: hue(colour), weight: 600, align: isLeft ? "right" : "left", halo: hue("panel") });
  }

  at(x, y) {
    const { run } = this;
    if (run.isEmpty || !run.hasUsers) return null;
    const sheet = run.sheetOf(run.roundAt(this.app.t)), row = Math.floor((y - this.top) / this.step);
    return row >= 0 && row < sheet.n ? { run, user: sheet.user[sheet.order[row]] } : null;
  }
}

const AXIS = 46; // css pixels to the left of bars, for what their height means

class BandChart {
  constructor(element, run, app) {
    this.run = run;
    this.app = app;
    this.canvas = new Canvas(element, () => app.tall(98, 96), "Bandwidth of each station and who has it");
    this.most = run.a.capacity_hz.reduce((a, b) => Math.max(a, b), 0);
  }

  // Where a station's bar stands: the wider the band, the taller.
  place(s) {
    const { width, height } = this.canvas, n = this.run.stations;
    const step = (width - AXIS) / n, bottom = height - 16;
    const thick = Math.max(0.8, step > 4 ? Math.min(64, step - Math.max(1.5, step * 0.22)) : step);
    const full = (bottom - 4) * (this.run.a.capacity_hz[s] / this.most);
    return { x: AXIS + s * step + (step - thick) / 2, thick, bottom, full, step };
  }

  draw(t) {
    const { run } = this, ctx = this.canvas.begin(), { width, height } = this.canvas;
    if (run.isEmpty) return;
    const r = run.roundAt(t), sheet = run.sheetOf(r), n = run.stations, now = t - run.a.start_s[r];
    line(ctx, AXIS, 4, width, 4, hue("line"));
    write(ctx, hertz(this.most, short), AXIS - 6, 9, { align: "right" });
    write(ctx, "0", AXIS - 6, height - 16, { align: "right" });
    for (let s = 0; s < n; s++) {
      const bar = this.place(s), { x, thick, bottom, full } = bar;
      ctx.fillStyle = hue("left-out");
      ctx.globalAlpha = 0.22;
      ctx.fillRect(x, bottom - full, thick, full);
      ctx.globalAlpha = 1;
      if (sheet.finish) this.drawShares(ctx, sheet, s, now, bar);
      else {
        const load = Math.min(1, run.a.station_load[r * n + s]);
        ctx.fillStyle = hue("accent");
        ctx.fillRect(x, bottom - full * load, thick, full * load);
      }
      if (n <= 40) write(ctx, String(s), x + thick / 2, height - 3, { align: "center", size: n <= 24 ? 11 : 9 });
    }
    if (n <= 40) write(ctx, "station", AXIS - 6, height - 3, { align: "right" });
    else write(ctx, `the ${n} stations`, (AXIS + width) / 2, height - 3, { align: "center" });
  }

  drawShares(ctx, sheet, s, now, { x, thick, bottom, full }) {
    let y = bottom;
    const list = sheet.byStation[s], seam = list.length * 3 < full ? 1 : 0;
    for (const k of list) {
      const tall = sheet.share[k] * full;
      y -= tall;
      ctx.fillStyle = theme.ramp[this.app.shade(sheet.finish[k])];
      ctx.globalAlpha = sheet.finish[k] <= now ? 1 : this.app.isLit(this.run, sheet.user[k]) ? 0.85 : 0.45;
      ctx.fillRect(x, y + seam, thick, Math.max(0.5, tall - seam));
    }
    ctx.globalAlpha = 1;
  }

  at(x, y) {
    const { run } = this;
    if (run.isEmpty || x < AXIS) return null;
    const s = Math.min(run.stations - 1, Math.floor((x - AXIS) / this.place(0).step));
    const sheet = run.sheetOf(run.roundAt(this.app.t)), { bottom, full } = this.place(s);
    let up = bottom - y;
    if (sheet.finish && up >= 0) {
      for (const k of sheet.byStation[s]) {
        up -= sheet.share[k] * full;
        if (up <= 0) return { run, user: sheet.user[k] };
      }
    }
    return { run, station: s };
  }
}

// Who has taken part how often: by user where there is room, else from often to seldom.
class TookChart {
  constructor(element, run, app) {
    this.run = run;
    this.app = app;
    this.canvas = new Canvas(element, () => app.tall(80, 80), "How often each user has taken part");
  }

  draw(t) {
    const { run } = this, ctx = this.canvas.begin(), { width, height } = this.canvas;
    if (run.isEmpty) return;
    const r = run.roundAt(t), counts = run.countsAt(r), n = run.users, sheet = run.sheetOf(r);
    const bottom = height - 15, full = bottom - 4, rounds = r + 1;
    this.step = (width - AXIS) / n;
    this.isSorted = this.step < 2.5;
    const shares = this.isSorted ? Int32Array.from(counts).sort().reverse() : counts;
    const thick = this.step > 3 ? this.step - 1 : Math.max(this.step, 0.7);
    line(ctx, AXIS, 4, width, 4, hue("line"));
    write(ctx, "100 %", AXIS - 6, 9, { align: "right" });
    for (let u = 0; u < n; u++) {
      const tall = (shares[u] / rounds) * full, isIn = this.isSorted || sheet.place[u] >= 0;
      ctx.fillStyle = !this.isSorted && this.app.isLit(run, u) ? hue("ink") : isIn ? hue(`run-${run.index % 8}`) : hue("left-out");
      ctx.fillRect(AXIS + u * this.step, bottom - tall, thick, Math.max(tall, 1));
    }
    if (this.isSorted) write(ctx, `the ${n} users, from often to seldom`, (AXIS + width) / 2, height - 2, { align: "center" });
    else {
      write(ctx, "user", AXIS - 6, height - 2, { align: "right" });
      for (const u of marks(n - 1, Math.min(n, width / 60))) {
        if (u < n && u % 1 === 0) write(ctx, String(u), AXIS + (u + 0.5) * this.step, height - 2, { align: "center" });
      }
    }
    const due = bottom - run.about.rho1 * full;
    if (run.about.rho1 > 0) line(ctx, AXIS, due, width, due, hue("warn"), 1.5, [3, 3]);
  }

  at(x) {
    const { run } = this;
    if (run.isEmpty || this.isSorted || x < AXIS) return null;
    const u = Math.floor((x - AXIS) / this.step);
    return u < run.users ? { run, user: u } : null;
  }
}
