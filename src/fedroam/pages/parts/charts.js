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
      ctx.globalAlpha = isLit ? 0.8 : 0.32;
      ctx.fillRect(x(sent), y, x(sheet.finish[k]) - x(sent), thick);
      ctx.globalAlpha = 1;
      if (step >= 9) write(ctx, String(u), x(0) + 4, y + thick / 2 + 0.5, { size: Math.min(11, step - 1.5), fill: hue("ink"), base: "middle" });
    });
  }

  drawLimits(ctx, x, r, length, bound, bottom) {
    const { run, canvas } = this, straggler = run.a.straggler[r];
    const isBounded = bound === bound, toRight = x(bound) < canvas.width * 0.5;
    if (isBounded) line(ctx, x(bound), 2, x(bound), bottom, hue("good"), 1.5, [4, 3]);
    line(ctx, x(length), 15, x(length), bottom, hue("warn"), 1.5);
    const who = straggler >= 0 ? `user ${straggler} is last, ` : "nobody takes part, ";
    const isRight = x(length) > canvas.width * 0.5;
    write(ctx, who + seconds(length), x(length) + (isRight ? -5 : 5), 24, { fill: hue("warn"), weight: 600, align: isRight ? "right" : "left", halo: hue("panel") });
    if (isBounded) write(ctx, `bound ${seconds(bound)}`, x(bound) + (toRight ? 5 : -5), 10, { fill: hue("good"), weight: 600, align: toRight ? "left" : "right", halo: hue("panel") });
  }

  at(x, y) {
    const { run } = this;
    if (run.isEmpty || !run.hasUsers) return null;
    const sheet = run.sheetOf(run.roundAt(this.app.t)), row = Math.floor((y - this.top) / this.step);
    return row >= 0 && row < sheet.n ? { run, user: sheet.user[sheet.order[row]] } : null;
  }
}

class BandChart {
  constructor(element, run, app) {
    this.run = run;
    this.app = app;
    this.canvas = new Canvas(element, () => app.tall(98, 96), "Bandwidth of each station and who has it");
  }

  draw(t) {
    const { run } = this, ctx = this.canvas.begin(), { width, height } = this.canvas;
    if (run.isEmpty) return;
    const r = run.roundAt(t), sheet = run.sheetOf(r), n = run.stations;
    const now = t - run.a.start_s[r], bottom = height - (n <= 40 ? 16 : 4), full = bottom - 4;
    this.step = width / n;
    const thick = Math.max(0.8, this.step > 4 ? Math.min(64, this.step - Math.max(1.5, this.step * 0.22)) : this.step);
    for (let s = 0; s < n; s++) {
      const x = s * this.step + (this.step - thick) / 2;
      ctx.fillStyle = hue("left-out");
      ctx.globalAlpha = 0.22;
      ctx.fillRect(x, bottom - full, thick, full);
      ctx.globalAlpha = 1;
      if (sheet.finish) this.drawShares(ctx, sheet, s, now, { x, thick, bottom, full });
      else {
        const load = Math.min(1, run.a.station_load[r * n + s]);
        ctx.fillStyle = hue("accent");
        ctx.fillRect(x, bottom - full * load, thick, full * load);
      }
      if (n <= 40) write(ctx, String(s), x + thick / 2, height - 3, { align: "center", size: n <= 24 ? 11 : 9 });
    }
  }

  drawShares(ctx, sheet, s, now, { x, thick, bottom, full }) {
    let y = bottom;
    const list = sheet.byStation[s], seam = list.length * 3 < full ? 1 : 0;
    for (const k of list) {
      const tall = sheet.share[k] * full;
      y -= tall;
      ctx.fillStyle = theme.ramp[this.app.shade(sheet.finish[k])];
      ctx.globalAlpha = sheet.finish[k] <= now ? 1 : this.app.isLit(this.run, sheet.user[k]) ? 0.85 : 0.42;
      ctx.fillRect(x, y + seam, thick, Math.max(0.5, tall - seam));
    }
    ctx.globalAlpha = 1;
  }

  at(x, y) {
    const { run } = this;
    if (run.isEmpty) return null;
    const s = Math.max(0, Math.min(run.stations - 1, Math.floor(x / this.step)));
    const sheet = run.sheetOf(run.roundAt(this.app.t));
    const full = this.canvas.height - (run.stations <= 40 ? 16 : 4) - 4;
    if (sheet.finish) {
      let up = this.canvas.height - (run.stations <= 40 ? 16 : 4) - y;
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
    this.order = null;
    this.ofRound = -1;
  }

  draw(t) {
    const { run } = this, ctx = this.canvas.begin(), { width, height } = this.canvas;
    if (run.isEmpty) return;
    const r = run.roundAt(t), counts = run.countsAt(r), n = run.users;
    const bottom = height - 15, full = bottom - 4, rounds = r + 1;
    this.isSorted = n * 2.5 > width;
    const order = this.isSorted ? Int32Array.from(counts).sort().reverse() : counts;
    this.counts = counts;
    this.step = width / n;
    const thick = this.step > 3 ? this.step - 1 : Math.max(this.step, 0.7), sheet = run.sheetOf(r);
    for (let u = 0; u < n; u++) {
      const tall = (order[u] / rounds) * full;
      const isIn = this.isSorted || sheet.place[u] >= 0;
      ctx.fillStyle = !this.isSorted && this.app.isLit(run, u) ? hue("ink") : isIn ? hue(`run-${run.index % 8}`) : hue("left-out");
      ctx.fillRect(u * this.step, bottom - tall, thick, Math.max(tall, 1));
    }
    if (this.isSorted) write(ctx, `the ${n} users, from often to seldom`, width / 2, height - 2, { align: "center" });
    else for (const u of marks(n - 1, Math.min(n, width / 60))) if (u < n && u % 1 === 0) write(ctx, u ? String(u) : "user 0", u ? (u + 0.5) * this.step : 0, height - 2, { align: u ? "center" : "left" });
    const due = bottom - run.about.rho1 * full;
    if (run.about.rho1 > 0) line(ctx, 0, due, width, due, hue("warn"), 1, [3, 3]);
  }

  at(x) {
    const { run } = this;
    if (run.isEmpty || this.isSorted) return null;
    const u = Math.floor(x / this.step);
    return u >= 0 && u < run.users ? { run, user: u } : null;
  }
}
