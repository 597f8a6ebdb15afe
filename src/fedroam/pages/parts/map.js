// The map: stations with their cells, users on their way, the links of the chosen.

// The part of the square that is nearer to station s than to any other: cut by half planes.
function cellOf(s, xy, side) {
  let cell = [[0, 0], [side, 0], [side, side], [0, side]];
  const [ax, ay] = [xy[2 * s], xy[2 * s + 1]];
  for (let o = 0; o < xy.length / 2 && cell.length; o++) {
    const dx = xy[2 * o] - ax, dy = xy[2 * o + 1] - ay;
    if (o === s || (dx === 0 && dy === 0)) continue;
    const limit = (dx * (ax + xy[2 * o]) + dy * (ay + xy[2 * o + 1])) / 2;
    const kept = [];
    for (let i = 0; i < cell.length; i++) {
      const p = cell[i], q = cell[(i + 1) % cell.length];
      const fp = dx * p[0] + dy * p[1] - limit, fq = dx * q[0] + dy * q[1] - limit;
      if (fp <= 0) kept.push(p);
      if ((fp < 0 && fq > 0) || (fp > 0 && fq < 0)) {
        const k = fp / (fp - fq);
        kept.push([p[0] + k * (q[0] - p[0]), p[1] + k * (q[1] - p[1])]);
      }
    }
    cell = kept;
  }
  return cell;
}

const TRAIL = 40; // rounds behind who is followed
const WAKE = 8, WAKE_STEPS = 24; // rounds of ordinary length behind everybody, and at most so many rounds
const CROWD = 600; // users; more would hide the map under their wakes

class MapView {
  constructor(element, run, app) {
    this.run = run;
    this.app = app;
    this.canvas = new Canvas(element, (width) => (app.runs.length > 1 && innerWidth > 620 && !app.isRoomy ? Math.min(width, Math.max(260, innerHeight * 0.38)) : width), "Map of stations and users");
    const many = run.stations > 500;
    this.cells = many ? [] : Array.from({ length: run.stations }, (_, s) => cellOf(s, run.a.station_m, run.about.area_m));
    this.px = new Float32Array(run.users);
    this.py = new Float32Array(run.users);
    this.background = document.createElement("canvas");
    this.painted = "";
  }

  x(m) { return this.left + (m / this.run.about.area_m) * this.side; }
  y(m) { return this.top + this.side - (m / this.run.about.area_m) * this.side; }

  place() {
    const { width, height } = this.canvas, pad = 12;
    this.side = Math.min(width, height) - 2 * pad;
    this.left = (width - this.side) / 2;
    this.top = (height - this.side) / 2;
  }

  // Where everyone is: straight between the places at the starts of two rounds.
  walk(r, part) {
    const { x, y } = this.run.a, n = this.run.users;
    const here = r * n, next = (r + 1 < this.run.rounds ? r + 1 : r) * n;
    const scale = this.side / PLACES, bottom = this.top + this.side;
    for (let u = 0; u < n; u++) {
      this.px[u] = this.left + (x[here + u] + (x[next + u] - x[here + u]) * part) * scale;
      this.py[u] = bottom - (y[here + u] + (y[next + u] - y[here + u]) * part) * scale;
    }
  }

  paintBackground() {
    const key = [this.canvas.width, this.canvas.height, this.canvas.scale, theme.isDark].join();
    if (key === this.painted) return;
    this.painted = key;
    const back = this.background, { width, height, scale } = this.canvas;
    back.width = width * scale;
    back.height = height * scale;
    const ctx = back.getContext("2d");
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.beginPath();
    ctx.roundRect(this.left - 8, this.top - 8, this.side + 16, this.side + 16, 10);
    ctx.fillStyle = hue("land");
    ctx.fill();
    ctx.beginPath();
    for (const cell of this.cells) this.trace(ctx, cell);
    ctx.strokeStyle = hue("line");
    ctx.lineWidth = 1;
    ctx.stroke();
    const area = this.run.about.area_m, bar = [1, 2, 5].flatMap((d) => [0.1, 1, 10, 100, 1e3, 1e4, 1e5].map((p) => d * p))
      .filter((m) => m <= area / 4).sort((a, b) => b - a)[0] || area / 4;
    const x = this.left + 6, y = this.top + this.side - 8, w = (bar / area) * this.side;
    line(ctx, x, y, x + w, y, hue("faint"), 1.5);
    write(ctx, bar >= 1000 ? `${bar / 1000} km` : `${short(bar)} m`, x + w / 2, y - 5, { size: 10, align: "center", fill: hue("faint") });
  }

  trace(ctx, cell) {
    cell.forEach(([mx, my], i) => (i ? ctx.lineTo(this.x(mx), this.y(my)) : ctx.moveTo(this.x(mx), this.y(my))));
    ctx.closePath();
  }

  draw(t) {
    const { run } = this, ctx = this.canvas.begin();
    this.place();
    this.paintBackground();
    ctx.drawImage(this.background, 0, 0, this.canvas.width, this.canvas.height);
    const r = run.roundAt(t);
    const length = run.isEmpty ? 1 : run.a.length_s[r];
    const now = run.isEmpty ? 0 : Math.min(t - run.a.start_s[r], length);
    if (run.hasUsers && !run.isEmpty) {
      this.walk(r, length > 0 ? now / length : 1);
      const sheet = run.sheetOf(r);
      this.drawArrivals(ctx, sheet, now);
      this.drawWakes(ctx, r, t);
      this.drawLinks(ctx, r, sheet, now);
      this.drawUsers(ctx, r, sheet);
      this.drawStations(ctx, sheet, now);
      this.drawFollowed(ctx, r, sheet);
    } else {
      this.drawStations(ctx, null, now);
    }
  }

  arrivedAt(sheet, s, now) {
    const list = sheet.byStation[s];
    let n = 0;
    while (n < list.length && sheet.finish[list[n]] <= now) n++;
    return list.length ? n / list.length : 0;
  }

  // A cell fills as its updates arrive.
  drawArrivals(ctx, sheet, now) {
    ctx.fillStyle = hue("accent");
    for (let s = 0; s < this.cells.length; s++) {
      const arrived = this.arrivedAt(sheet, s, now);
      if (!arrived) continue;
      ctx.globalAlpha = (theme.isDark ? 0.14 : 0.1) * arrived;
      ctx.beginPath();
      this.trace(ctx, this.cells[s]);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
  }

  // The way that everybody has come lately, fading: the same seconds in all runs.
  drawWakes(ctx, r, t) {
    const { run, px, py } = this, n = run.users, { x, y, start_s } = run.a;
    if (n > CROWD) return;
    const span = WAKE * this.app.ordinary, scale = this.side / PLACES, bottom = this.top + this.side;
    ctx.strokeStyle = hue("faint");
    ctx.lineWidth = 1.3;
    for (let i = r; i >= Math.max(0, r - WAKE_STEPS) && span; i--) {
      const age = (t - start_s[i]) / span, here = i * n, next = here + n;
      ctx.beginPath();
      for (let u = 0; u < n; u++) {
        ctx.moveTo(this.left + x[here + u] * scale, bottom - y[here + u] * scale);
        if (i === r) ctx.lineTo(px[u], py[u]);
        else ctx.lineTo(this.left + x[next + u] * scale, bottom - y[next + u] * scale);
      }
      ctx.globalAlpha = 0.5 * Math.max(0.12, 1 - age);
      ctx.stroke();
      if (age > 1) break;
    }
    ctx.globalAlpha = 1;
  }

  drawLinks(ctx, r, sheet, now) {
    const { run, px, py } = this, { station_m, ready_s } = run.a;
    const whole = Array.from({ length: SHADES }, () => new Path2D());
    const sent = Array.from({ length: SHADES }, () => new Path2D());
    for (let k = 0; k < sheet.n; k++) {
      const u = sheet.user[k], s = run.stationOf(r, u), shade = this.app.shade(sheet.finish[k]);
      const sx = this.x(station_m[2 * s]), sy = this.y(station_m[2 * s + 1]);
      whole[shade].moveTo(px[u], py[u]);
      whole[shade].lineTo(sx, sy);
      const spent = (now - ready_s[u]) / (sheet.finish[k] - ready_s[u]);
      if (spent > 0 && spent < 1) {
        sent[shade].moveTo(px[u], py[u]);
        sent[shade].lineTo(px[u] + (sx - px[u]) * spent, py[u] + (sy - py[u]) * spent);
      }
    }
    const crowd = Math.min(1, 160 / Math.max(1, sheet.n));
    for (let i = 0; i < SHADES; i++) {
      ctx.strokeStyle = theme.ramp[i];
      ctx.globalAlpha = 0.12 + 0.26 * crowd;
      ctx.lineWidth = 0.6 + 0.5 * crowd;
      ctx.stroke(whole[i]);
      ctx.globalAlpha = 0.45 + 0.5 * crowd;
      ctx.lineWidth = 0.8 + 1.4 * crowd;
      ctx.stroke(sent[i]);
    }
    ctx.globalAlpha = 1;
  }

  get radius() {
    const alone = this.run.users <= 120 ? 4.6 : this.run.users <= CROWD ? 3.2 : 2;
    return alone * Math.min(1, Math.max(this.run.users <= 120 ? 0.8 : 0.6, this.side / 600));
  }

  drawUsers(ctx, r, sheet) {
    const { run, px, py, radius } = this, turn = 2 * Math.PI;
    const out = new Path2D(), must = new Path2D(), missed = new Path2D();
    const chosen = Array.from({ length: SHADES }, () => new Path2D());
    const small = radius * 0.62, big = radius * 1.75;
    for (let u = 0; u < run.users; u++) {
      const k = sheet.place[u];
      if (k < 0) {
        out.moveTo(px[u] + small, py[u]);
        out.arc(px[u], py[u], small, 0, turn);
      } else {
        const path = chosen[this.app.shade(sheet.finish[k])];
        path.moveTo(px[u] + radius, py[u]);
        path.arc(px[u], py[u], radius, 0, turn);
      }
      if (run.isRequired(r, u)) {
        const path = k < 0 ? missed : must;
        path.moveTo(px[u], py[u] - big);
        path.lineTo(px[u] + big, py[u]);
        path.lineTo(px[u], py[u] + big);
        path.lineTo(px[u] - big, py[u]);
        path.closePath();
      }
    }
    ctx.lineWidth = 1.2;
    ctx.strokeStyle = hue("left-out");
    ctx.stroke(out);
    chosen.forEach((path, i) => { ctx.fillStyle = theme.ramp[i]; ctx.fill(path); });
    ctx.lineWidth = 1.5;
    ctx.strokeStyle = hue("ink");
    ctx.stroke(must);
    ctx.strokeStyle = hue("warn");
    ctx.lineWidth = 2;
    ctx.stroke(missed);
  }

  drawStations(ctx, sheet, now) {
    const { run } = this, n = run.stations;
    const room = Math.min(1, Math.max(0.7, this.side / 480)), isNamed = n <= 24;
    const ring = room * (isNamed ? 11 : n <= 120 ? 6.5 : 3);
    for (let s = 0; s < n; s++) {
      const x = this.x(run.a.station_m[2 * s]), y = this.y(run.a.station_m[2 * s + 1]);
      ctx.beginPath();
      ctx.arc(x, y, ring, 0, 2 * Math.PI);
      ctx.fillStyle = hue("panel");
      ctx.fill();
      ctx.strokeStyle = hue("faint");
      ctx.globalAlpha = 0.45;
      ctx.lineWidth = ring > 5 ? 2.5 : 1;
      ctx.stroke();
      ctx.globalAlpha = 1;
      const arrived = sheet ? this.arrivedAt(sheet, s, now) : 0;
      if (arrived) {
        ctx.beginPath();
        ctx.arc(x, y, ring, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * arrived);
        ctx.strokeStyle = hue("accent");
        ctx.stroke();
      }
      if (isNamed) write(ctx, String(s), x, y + 0.5, { size: 11 * room, weight: 650, align: "center", base: "middle", fill: hue("ink") });
    }
  }

  // The straggler by name, and whoever is followed with the way it came.
  drawFollowed(ctx, r, sheet) {
    const { run, app } = this, straggler = run.a.straggler[r];
    const followed = app.followed !== null && app.followed < run.users ? app.followed : -1;
    if (followed >= 0) {
      const scale = this.side / PLACES;
      ctx.beginPath();
      for (let i = Math.max(0, r - TRAIL); i <= r; i++) {
        const at = i * run.users + followed;
        ctx.lineTo(this.left + run.a.x[at] * scale, this.top + this.side - run.a.y[at] * scale);
      }
      ctx.lineTo(this.px[followed], this.py[followed]);
      ctx.strokeStyle = hue("ink");
      ctx.globalAlpha = 0.55;
      ctx.lineWidth = 1.5;
      ctx.stroke();
      ctx.globalAlpha = 1;
      if (followed !== straggler) this.name(ctx, followed, hue("ink"));
    }
    if (straggler >= 0 && sheet.place[straggler] >= 0) this.name(ctx, straggler, hue("warn"), " is last");
    const hover = app.hover;
    if (hover && hover.run === run && hover.user !== undefined && hover.user !== straggler && hover.user !== followed) {
      this.name(ctx, hover.user, hue("ink"));
    }
  }

  name(ctx, u, ink, more = "") {
    const x = this.px[u], y = this.py[u], ring = this.radius * 2.1 + 1;
    ctx.beginPath();
    ctx.arc(x, y, ring, 0, 2 * Math.PI);
    ctx.strokeStyle = ink;
    ctx.lineWidth = 2;
    ctx.stroke();
    const text = `user ${u}${more}`, isLeft = x + ring + 6 + widthOf(ctx, text, 11, 600) > this.left + this.side;
    write(ctx, text, isLeft ? x - ring - 4 : x + ring + 4, y, { fill: ink, weight: 600, align: isLeft ? "right" : "left", base: "middle", halo: hue("land") });
  }

  // What the pointer is at: a user, a station, or nothing.
  at(x, y) {
    const { run } = this, reach = 16;
    let best = reach * reach, found = null;
    for (let s = 0; s < run.stations; s++) {
      const d = (this.x(run.a.station_m[2 * s]) - x) ** 2 + (this.y(run.a.station_m[2 * s + 1]) - y) ** 2;
      if (d < best && d < 121) { best = d; found = { run, station: s }; }
    }
    if (run.hasUsers && !run.isEmpty) {
      for (let u = 0; u < run.users; u++) {
        const d = (this.px[u] - x) ** 2 + (this.py[u] - y) ** 2;
        if (d < best) { best = d; found = { run, user: u }; }
      }
    }
    return found;
  }
}
