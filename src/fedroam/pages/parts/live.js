// A run that goes on: ask the server on this machine for the rounds since the last.

function follow(app) {
  const badge = document.getElementById("live");
  badge.hidden = false;
  const run = app.lead;

  async function ask() {
    try {
      const answer = await fetch(`${app.live}?first=${run.first + run.rounds}`, { cache: "no-store" });
      if (!answer.ok) throw new Error(await answer.text());
      take(await answer.json());
    } catch {
      badge.textContent = "connection lost";
      badge.classList.add("ended");
      setTimeout(ask, 3 * REFRESH_MS);
      return;
    }
    if (app.live) setTimeout(ask, REFRESH_MS);
  }

  function take(packed) {
    const wasAtEnd = app.t >= app.end - 1e-6, before = app.end, wasEmpty = run.isEmpty;
    const isNew = run.append(packed);
    run.about.complete = packed.about.complete;
    badge.classList.toggle("ended", packed.about.complete);
    badge.textContent = packed.about.complete ? "ended" : "live";
    if (packed.about.complete) app.live = null;
    if (!isNew) return;
    app.measure();
    app.drawScale();
    if (wasEmpty) app.player.setSpeed();
    // Whoever looks at the end stays there: the new rounds are played, the last few of them.
    if (wasAtEnd || wasEmpty) {
      const from = Math.max(run.roundAt(before), run.rounds - 3);
      app.player.seek(wasEmpty ? run.a.start_s[from] : Math.max(before, run.a.start_s[from]));
      app.player.toggle(true);
    } else app.player.seek(app.t);
  }

  ask();
}
