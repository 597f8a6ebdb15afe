// A run's arrays, and what they say of a moment.

const KINDS = {
  float64: Float64Array, float32: Float32Array, int32: Int32Array, int16: Int16Array,
  int8: Int8Array, uint16: Uint16Array, uint8: Uint8Array,
};
const ONCE = ["station_m", "capacity_hz", "ready_s"];
const PLACES = 65535;

function unpack(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const arrays = {};
  for (const [name, { type, shape, at }] of Object.entries(packed.arrays)) {
    arrays[name] = new KINDS[type](bytes.buffer, at, shape.reduce((a, b) => a * b, 1));
  }
  return arrays;
}

function joined(one, other) {
  const all = new one.constructor(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
}

class Run {
  constructor(packed, index) {
    this.index = index;
    this.about = packed.about;
    this.first = packed.first;
    this.take(unpack(packed), packed.rounds);
  }

  take(arrays, rounds) {
    this.a = arrays;
    this.rounds = rounds;
    this.users = this.about.users;
    this.stations = this.about.stations;
    const n = arrays.n_selected;
    this.offset = new Int32Array(rounds + 1); // where a round's chosen begin
    for (let r = 0; r < rounds; r++) this.offset[r + 1] = this.offset[r] + n[r];
    this.counts = new Int32Array(this.users); // how often each has taken part before countedTo
    this.countedTo = 0;
    this.sheet = null;
    this.hasBounds = arrays.bound_s.some((value) => value === value);
  }

  append(packed) {
    if (packed.first !== this.first + this.rounds || !packed.rounds) return false;
    const more = unpack(packed);
    const arrays = {};
    for (const name of Object.keys(more)) {
      if (ONCE.includes(name)) arrays[name] = more[name];
      else if (this.a[name]) arrays[name] = joined(this.a[name], more[name]);
      else if (!this.rounds) arrays[name] = more[name];
    }
    this.take(arrays, this.rounds + packed.rounds);
    return true;
  }

  get hasUsers() { return Boolean(this.a.x); }
  get hasChosen() { return Boolean(this.a.station || this.a.chosen); }
  // Also where no test has come yet.
  get learns() { return Boolean(this.about.learns) || this.a.accuracy.some((value) => value === value); }
  get isEmpty() { return this.rounds === 0; }
  get start() { return this.rounds ? this.a.start_s[0] : 0; }
  get end() { return this.rounds ? this.endOf(this.rounds - 1) : 0; }

  // The round that goes on at a time; the last one after the end.
  roundAt(t) {
    let low = 0, high = this.rounds - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.a.start_s[middle] <= t) low = middle; else high = middle - 1;
    }
    return low;
  }

  isRequired(r, u) {
    const width = Math.ceil(this.users / 8);
    return Boolean((this.a.required[r * width + (u >> 3)] >> (u & 7)) & 1);
  }

  // The chosen of a round, in the order of users and in that of their finish; kept for one round.
  sheetOf(r) {
    if (this.sheet && this.sheet.round === r) return this.sheet;
    const from = this.offset[r], n = this.offset[r + 1] - from;
    const user = new Int32Array(n), place = new Int32Array(this.users).fill(-1);
    if (this.a.station) {
      for (let u = 0, k = 0; u < this.users; u++) {
        if (this.a.station[r * this.users + u] >= 0) { place[u] = k; user[k++] = u; }
      }
    } else if (this.a.chosen) {
      for (let k = 0; k < n; k++) { user[k] = this.a.chosen[from + k]; place[user[k]] = k; }
    }
    const finish = this.hasUsers ? this.a.finish_s.subarray(from, from + n) : null;
    const order = Array.from({ length: n }, (_, k) => k);
    if (finish) order.sort((i, j) => finish[i] - finish[j] || i - j);
    const share = this.hasUsers ? this.a.share.subarray(from, from + n) : null;
    const byStation = Array.from({ length: this.stations }, () => []);
    if (finish) for (const k of order) byStation[this.a.station[r * this.users + user[k]]].push(k);
    this.sheet = { round: r, n, user, place, finish, share, order, byStation };
    return this.sheet;
  }

  // How often each user has taken part up to and with a round.
  countsAt(r) {
    if (r + 1 < this.countedTo) { this.counts.fill(0); this.countedTo = 0; }
    for (; this.countedTo <= r; this.countedTo++) {
      const base = this.countedTo * this.users;
      if (this.a.station) {
        for (let u = 0; u < this.users; u++) if (this.a.station[base + u] >= 0) this.counts[u]++;
      } else if (this.a.chosen) {
        for (let k = this.offset[this.countedTo]; k < this.offset[this.countedTo + 1]; k++) {
          this.counts[this.a.chosen[k]]++;
        }
      }
    }
    return this.counts;
  }

  stationOf(r, u) { return this.a.station ? this.a.station[r * this.users + u] : -1; }

  endOf(r) { return this.a.start_s[r] + this.a.length_s[r]; }

  // The last round that was over and tested at a time; -1 before the first.
  testedAt(t) {
    let r = this.roundAt(t);
    if (t < this.endOf(r)) r--;
    while (r >= 0 && this.a.accuracy[r] !== this.a.accuracy[r]) r--;
    return r;
  }

  accuracyAt(t) {
    const r = this.rounds ? this.testedAt(t) : -1;
    return r < 0 ? NaN : this.a.accuracy[r];
  }
}

function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : 0;
}

const seconds = (s) => (s !== s ? "–" : `${s < 10 ? s.toFixed(3) : s < 1000 ? s.toFixed(1) : s.toFixed(0)} s`);
const percent = (x, digits = 1) => (x !== x ? "–" : `${(100 * x).toFixed(digits)} %`);
function hertz(hz, digits = (x) => x.toPrecision(3)) {
  return hz >= 1e6 ? `${digits(hz / 1e6)} MHz` : hz >= 1e3 ? `${digits(hz / 1e3)} kHz` : `${digits(hz)} Hz`;
}
