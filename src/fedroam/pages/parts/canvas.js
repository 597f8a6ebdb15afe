// A canvas that is as sharp as the screen, and the few strokes that all figures share.

class Canvas {
  constructor(element, heightOf, label) {
    this.element = element;
    this.heightOf = heightOf; // css pixels from the width
    if (label) { element.setAttribute("role", "img"); element.setAttribute("aria-label", label); }
    this.ctx = element.getContext("2d");
    this.width = this.height = 0;
  }

  // True where the size has changed.
  fit() {
    const width = Math.max(1, this.element.clientWidth);
    const height = Math.max(1, Math.round(this.heightOf(width)));
    const scale = Math.min(2, window.devicePixelRatio || 1);
    if (width === this.width && height === this.height && scale === this.scale) return false;
    this.width = width; this.height = height; this.scale = scale;
    this.element.style.height = `${height}px`;
    this.element.width = Math.round(width * scale);
    this.element.height = Math.round(height * scale);
    return true;
  }

  begin() {
    this.fit();
    this.ctx.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.ctx.clearRect(0, 0, this.width, this.height);
    this.ctx.globalAlpha = 1;
    this.ctx.setLineDash([]);
    return this.ctx;
  }
}

const FONT = getComputedStyle(document.body).fontFamily;

function write(ctx, text, x, y, { size = 11, fill = hue("soft"), align = "left", weight = 400, base = "alphabetic", halo } = {}) {
  ctx.font = `${weight} ${size}px ${FONT}`;
  ctx.textAlign = align;
  ctx.textBaseline = base;
  if (halo) {
    ctx.strokeStyle = halo;
    ctx.lineWidth = 4;
    ctx.lineJoin = "round";
    ctx.strokeText(text, x, y);
  }
  ctx.fillStyle = fill;
  ctx.fillText(text, x, y);
}

function widthOf(ctx, text, size = 11, weight = 400) {
  ctx.font = `${weight} ${size}px ${FONT}`;
  return ctx.measureText(text).width;
}

function line(ctx, x1, y1, x2, y2, stroke, width = 1, dash = []) {
  ctx.beginPath();
  ctx.setLineDash(dash);
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.strokeStyle = stroke;
  ctx.lineWidth = width;
  ctx.stroke();
  ctx.setLineDash([]);
}

// Round marks of an axis from 0 to top, about n of them.
function marks(top, n = 4) {
  if (!(top > 0)) return [0];
  const rough = top / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * power >= rough * 0.999) * power;
  const found = [];
  for (let i = 0; i * step <= top * 1.0001; i++) found.push(i * step);
  return found;
}

const short = (x) => String(Number(x.toPrecision(3)));
