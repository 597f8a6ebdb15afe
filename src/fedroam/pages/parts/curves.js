// What all runs share: curves over simulated time with a cursor at the present moment.

// Whose curve is whose, and where each stands.
class CurveLegend {
  constructor(runs) {
    this.element = make("p", "key");
    this.values = runs.map((run) => {
      const entry = make("span"), name = make("i", "", run.about.label), value = make("b");
      entry.style.setProperty("--colour", `var(--run-${run.index % 8})`);
      name.title = run.about.label;
      entry.append(name, value);
      this.element.append(entry);
      return value;
    });
  }

  tell(run, text) {
    const value = this.values[run.index];
    if (value.textContent !== text) value.textContent = text;
  }
}

class CurveChart {
  constructor(element, app, { label, legend, valuesOf, boundsOf, format, tell, isStepped, top }) {
    Object.assign(this, { app, legend, valuesOf, boundsOf, format, tell, isStepped, fixedTop: top });
    this.canvas = new Canvas(element, () => (app.runs.length > 1 ? 130 : app.tall(128, 130)), label);
    this.layer = document.createElement("canvas");
    this.key = "";
  }

  scale() {
    const { width, height } = this.canvas;
    this.left = 42;
    this.right = width - 8;
    this.top = 8;
    this.bottom = height - 18;
    this.end = this.app.end || 1;
    let top = this.fixedTop || 0;
    if (!top) for (const run of this.app.runs) top = Math.max(top, quantile(this.valuesOf(run), 0.995));
    this.high = (top || 1) * (this.fixedTop ? 1 : 1.1);
  }

  x(s) { return this.left + (s / this.end) * (this.right - this.left); }
  y(value) { return this.bottom - Math.min(1.02, value / this.high) * (this.bottom - this.top); }

  draw(t) {
    const ctx = this.canvas.begin(), { width, height, scale } = this.canvas;
    const key = [width, height, scale, theme.isDark, this.app.end, ...this.app.runs.map((run) => run.rounds)].join();
    if (key !== this.key) {
      this.key = key;
      this.scale();
      this.layer.width = width * scale;
      this.layer.height = height * scale;
      const back = this.layer.getContext("2d");
      back.setTransform(scale, 0, 0, scale, 0, 0);
      this.paint(back);
    }
    ctx.drawImage(this.layer, 0, 0, width, height);
    const x = this.x(t);
    // What is still to come is veiled.
    ctx.globalAlpha = 0.62;
    ctx.fillStyle = hue("panel");
    ctx.fillRect(x, this.top - 2, this.right + 8 - x, this.bottom - this.top + 1);
    ctx.globalAlpha = 1;
    line(ctx, x, this.top - 4, x, this.bottom, hue("ink"), 1.2);
    for (const run of this.app.runs) {
      const value = this.valueAt(run, t);
      if (this.legend) this.legend.tell(run, this.tell(value));
      if (value !== value) continue;
      ctx.beginPath();
      const at = this.isStepped ? x : this.x(run.endOf(run.testedAt(t))); // known since then
      ctx.arc(at, this.y(value), 3.6, 0, 2 * Math.PI);
      ctx.fillStyle = hue(`run-${run.index % 8}`);
      ctx.fill();
      ctx.strokeStyle = hue("panel");
      ctx.lineWidth = 1.5;
      ctx.stroke();
    }
  }

  valueAt(run, t) {
    if (run.isEmpty) return NaN;
    return this.isStepped ? this.valuesOf(run)[run.roundAt(t)] : run.accuracyAt(t);
  }

  paint(ctx) {
    for (const mark of marks(this.high, 4)) {
      const y = this.y(mark);
      line(ctx, this.left, y, this.right, y, hue("line"));
      write(ctx, this.format(mark), this.left - 6, y + 4, { align: "right" });
    }
    for (const mark of marks(this.end, 6)) {
      write(ctx, mark ? short(mark) : "0 s", this.x(mark), this.canvas.height - 3, { align: "center" });
    }
    for (const run of this.app.runs) {
      const isAlone = this.app.runs.length === 1, own = hue(`run-${run.index % 8}`);
      if (this.boundsOf) this.trace(ctx, run, this.boundsOf(run), isAlone ? hue("good") : own, 1, [1, 3]);
      const shade = isAlone ? 0 : run.index;
      this.trace(ctx, run, this.valuesOf(run), own, this.isStepped ? 1.1 : 2, this.isStepped ? [] : DASHES[shade % 8]);
    }
  }

  trace(ctx, run, values, stroke, width, dash) {
    ctx.beginPath();
    let isDown = false;
    for (let r = 0; r < run.rounds; r++) {
      const value = values[r];
      if (value !== value) { if (this.isStepped) isDown = false; continue; }
      const start = run.a.start_s[r], end = start + run.a.length_s[r], y = this.y(value);
      if (this.isStepped) {
        if (isDown) ctx.lineTo(this.x(start), y); else ctx.moveTo(this.x(start), y);
        ctx.lineTo(this.x(end), y);
      } else if (isDown) ctx.lineTo(this.x(end), y);
      else ctx.moveTo(this.x(end), y);
      isDown = true;
    }
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width;
    ctx.lineJoin = "round";
    ctx.setLineDash(dash);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  timeAt(x) { return Math.max(0, Math.min(this.end, ((x - this.left) / (this.right - this.left)) * this.end)); }
}
