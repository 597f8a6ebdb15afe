// Colours: read from the style sheet, so that there is one place for them.

const probe = document.createElement("i");
probe.hidden = true;
document.body.append(probe);

function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

// From early to late: blue over mauve to orange, which the colour-blind order in the same way;
// each ends where it can still be seen on its background.
const RAMP = {
  light: [[0, 92, 175], [98, 84, 178], [176, 72, 140], [214, 84, 72], [224, 120, 0]],
  dark: [[70, 150, 255], [150, 135, 250], [225, 125, 200], [255, 140, 120], [255, 190, 70]],
};
const SHADES = 16;

const theme = { isDark: false, ramp: [], names: {} };

function readTheme() {
  const chosen = document.documentElement.dataset.theme;
  theme.isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const stops = RAMP[theme.isDark ? "dark" : "light"];
  theme.ramp = Array.from({ length: SHADES }, (_, i) => {
    const place = (i / (SHADES - 1)) * (stops.length - 1);
    const k = Math.min(stops.length - 2, Math.floor(place));
    const mix = stops[k].map((c, j) => Math.round(c + (stops[k + 1][j] - c) * (place - k)));
    return `rgb(${mix.join(",")})`;
  });
  for (const name of ["page", "panel", "ink", "soft", "faint", "line", "land", "accent", "warn",
    "good", "left-out", ...Array.from({ length: 8 }, (_, i) => `run-${i}`)]) {
    theme.names[name] = colour(name);
  }
}

function switchTheme() {
  const next = theme.isDark ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("fedroam-theme", next); } catch { /* a page from disk may not */ }
  readTheme();
}

try {
  const kept = localStorage.getItem("fedroam-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch { /* then the system's choice holds */ }
readTheme();

const hue = (name) => theme.names[name];
const DASHES = [[], [7, 4], [7, 3, 2, 3], [2, 3], [10, 2], [5, 2, 1, 2, 1, 2], [], [7, 4]];
