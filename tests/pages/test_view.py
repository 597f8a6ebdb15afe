"""The page in a real browser: it plays, it tells the truth, and it asks nobody for anything."""

import json
import math

import numpy as np
import pytest

from fedroam.files import write_text
from fedroam.pages import Replay, page_of, read_replay
from fedroam.runs import RunFolder, parse, play, read_users
from looking import WORLD, same, table_of, unfinished

ROUND = {"round": "round", "length": "length_s", "bound": "bound_s", "chosen": "n_selected"}
ROUND |= {"required": "n_forced", "straggler": "straggler"}


def middle(row):
    """A moment well within a round."""
    return row["start_s"] + 0.5 * row["length_s"]


def end_of(rows):
    """When the run is over."""
    return rows[-1]["start_s"] + rows[-1]["length_s"]


def agrees(seen, rows, i, run=0):
    """What the page shows of round ``i`` is what the round table says, to the last digit."""
    facts, row = seen.facts(run), rows[i]
    known = [r["accuracy"] for r in rows[:i] if r["accuracy"] is not None]
    expected = {name: float(row[column]) for name, column in ROUND.items()}
    if "accuracy" in facts:
        expected["accuracy"] = known[-1] if known else math.nan
    assert facts.keys() == expected.keys()
    assert all(same(facts[name], expected[name]) for name in facts), (facts, expected)


def test_the_page_loads_shows_a_picture_and_asks_for_nothing(look, page_of_run, learns):
    """One request, for the page itself; no word on the console; a policy that forbids the rest."""
    with look(page_of_run(learns)) as seen:
        policy = seen.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute(
            "content"
        )
        assert len([url for url in seen.asked if not url.startswith("data:")]) == 1
        assert seen.page.locator("h1").inner_text() == "roaming"
        assert shades_of(seen, ".map canvas") > 20

    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def shades_of(seen, selector):
    """How many colours a canvas shows."""
    return seen.page.locator(selector).first.evaluate(
        """canvas => new Set(new Uint32Array(canvas.getContext("2d")
            .getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
    )


def test_nothing_can_be_loaded_or_run_from_outside(look, page_of_run, learns):
    """The page's own rules stop an image, a request and a script that somebody slipped in."""
    with look(page_of_run(learns)) as seen:
        blocked = seen.page.evaluate(
            """async () => {
                const met = [];
                document.addEventListener("securitypolicyviolation",
                    event => met.push(event.effectiveDirective));
                const image = Object.assign(new Image(), { src: "http://127.0.0.1:9/x.png" });
                document.body.append(image);
                const script = document.createElement("script");
                script.textContent = "window.slipped = true";
                document.body.append(script);
                await fetch("http://127.0.0.1:9/").catch(() => {});
                await new Promise(done => setTimeout(done, 50));
                return { met: met.sort(), slipped: window.slipped || false };
            }"""
        )
        assert len(seen.said) >= 3, "the browser tells of what it refused"
        seen.said.clear()
        seen.asked[:] = [url for url in seen.asked if not url.startswith("http://127.0.0.1:9/")]

    assert blocked["slipped"] is False
    assert [m for m in blocked["met"] if m.startswith(("connect", "img", "script"))][:3]
    assert len(blocked["met"]) == 3


def test_scrubbing_shows_every_round_as_the_table_has_it(look, page_of_run, learns):
    """Round by round, figures equal to the last digit."""
    rows = table_of(learns)
    with look(page_of_run(learns)) as seen:
        for i in (*range(len(rows)), 3, 0):
            seen.at(middle(rows[i]) / end_of(rows))
            agrees(seen, rows, i)
            assert seen.clock == pytest.approx(middle(rows[i]), abs=0.051)
        seen.at(1.0)
        assert float(seen.fact("accuracy")) == rows[-1]["accuracy"]


def test_play_advances_pause_stops_and_the_end_ends(look, page_of_run, learns):
    """The clock goes on by itself while it plays, and only then; faster when told to."""
    with look(page_of_run(learns)) as seen:
        assert seen.clock == 0
        seen.page.click("#play")
        seen.until(lambda: seen.clock > 0.1)
        assert float(seen.page.input_value("#time")) > 0
        seen.page.click("#play")
        stopped = seen.clock
        seen.page.wait_for_timeout(150)
        assert seen.clock == stopped > 0.1
        seen.page.select_option("#speed", "1000")
        seen.page.click("#play")
        seen.page.wait_for_selector("#play[aria-label=Play]")
        assert seen.clock == pytest.approx(end_of(table_of(learns)), abs=0.051)


def test_it_plays_by_itself_unless_motion_is_unwanted(look, page_of_run, learns):
    """Opened without a moment, the run begins; with reduced motion it waits."""
    page = page_of_run(learns)
    with look(page, moment="") as seen:
        seen.until(lambda: seen.clock > 0)
    with look(page, moment="", reduced_motion="reduce") as seen:
        seen.page.wait_for_timeout(100)
        assert seen.clock == 0


def test_keys(look, page_of_run, learns):
    """Step, leap, play, follow, theme and help without a mouse."""
    rows = table_of(learns)
    with look(page_of_run(learns)) as seen:
        press = lambda key: (seen.page.keyboard.press(key), seen.settle())  # noqa: E731
        press("ArrowRight")
        press("ArrowRight")
        agrees(seen, rows, 2)
        press("ArrowLeft")
        agrees(seen, rows, 1)
        press("Shift+ArrowRight")
        agrees(seen, rows, 11)
        press("Home")
        assert seen.clock == 0
        press("End")
        assert seen.clock == pytest.approx(end_of(rows), abs=0.051)
        before = seen.page.locator(".map canvas").screenshot()
        press("i")
        assert seen.page.locator(".map canvas").screenshot() != before
        press("Escape")
        assert seen.page.locator(".map canvas").screenshot() == before
        press("d")
        assert seen.page.locator("html").get_attribute("data-theme") == "dark"
        press("?")
        assert seen.page.locator("#keys").is_visible()
        seen.page.click("#close")
        assert not seen.page.locator("#keys").is_visible()
        press("Home")
        press(" ")
        seen.page.wait_for_selector("#play[aria-label=Pause]")


def lonely(users, i, n_users):
    """The chosen user of a round that is farthest from all others and from the border."""
    place = np.column_stack([users["x_m"], users["y_m"]]).astype(float)
    place = place[i * n_users : (i + 1) * n_users]
    station = users["station"].to_numpy()[i * n_users : (i + 1) * n_users]
    apart = np.linalg.norm(place[:, None] - place, axis=2) + 1e9 * np.eye(n_users)
    return int(np.argmax(np.where(station >= 0, apart.min(axis=1), -1))), place


def test_hovering_tells_the_figures_of_users_stations_and_curves(look, page_of_run, learns):
    """Where the table says a user is, the page says what the table says of it."""
    rows, users = table_of(learns), read_users(learns)
    i, n_users = 4, WORLD["world"]["users"]
    user, place = lonely(users, i, n_users)
    told = users.slice(i * n_users + user, 1).to_pylist()[0]
    with look(page_of_run(learns), moment=f"#round={i}") as seen:
        box = seen.page.locator(".map canvas").bounding_box()
        pad, side = 12, box["width"] - 24
        x = box["x"] + pad + place[user, 0] / 1000 * side
        y = box["y"] + pad + side - place[user, 1] / 1000 * side
        seen.page.mouse.move(x, y)
        seen.settle()
        assert seen.tip.startswith(f"user {user}\nstation {told['station']}, ")
        assert f"finished after {told['finish_s']:.3f} s" in seen.tip
        taken = sum(user in row["selected"] for row in rows[: i + 1])
        assert f"took part in {taken} of {i + 1} rounds" in seen.tip
        curve = seen.page.locator(".shared canvas").last
        curve.hover()
        assert seen.tip.count(" s\n") == 1
        curve.click()
        assert seen.clock > 0
        seen.page.mouse.move(2, 2)
        assert not seen.page.locator("#tip").is_visible()


def test_a_station_is_as_tall_as_its_band_is_wide_and_its_blocks_are_its_users(
    look, page_of_run, tmp_path
):
    """Pointing into a block names the user who has that band; above the bar there is none."""
    world = WORLD["world"] | {"band_spread": 0.6}
    play(parse(WORLD | {"world": world, "stop": {"rounds": 1}}), tmp_path / "uneven")
    capacity_hz = read_replay(tmp_path / "uneven").arrays["capacity_hz"].tolist()
    users, widest = read_users(tmp_path / "uneven").to_pylist(), max(capacity_hz)
    assert min(capacity_hz) < 0.8 * widest
    with look(page_of_run(tmp_path / "uneven")) as seen:
        seen.page.locator(".bands canvas").scroll_into_view_if_needed()
        box = seen.page.locator(".bands canvas").bounding_box()
        axis, foot = 46, 16
        step, full = (box["width"] - axis) / len(capacity_hz), box["height"] - foot - 4

        def tip_at(station, band_hz):
            x = box["x"] + axis + (station + 0.5) * step
            seen.page.mouse.move(x, box["y"] + box["height"] - foot - band_hz / widest * full)
            seen.settle()
            return seen.tip.split("\n")[0]

        for station, own_hz in enumerate(capacity_hz):
            mine = [row for row in users if row["station"] == station]
            mine.sort(key=lambda row: (np.float32(row["finish_s"]), row["user"]))  # as in the page
            below_hz = 0.0
            for row in mine:
                assert tip_at(station, below_hz + row["bandwidth_hz"] / 2) == f"user {row['user']}"
                below_hz += row["bandwidth_hz"]
            if own_hz < 0.9 * widest:
                assert tip_at(station, 0.97 * widest) == f"station {station}"


def test_runs_stand_side_by_side_under_one_clock(look, page_of_run, runs):
    """At one moment each run shows its own round."""
    page = page_of_run(runs / "learns", runs / "random")
    tables = [table_of(runs / "learns"), table_of(runs / "random")]
    end_s = max(map(end_of, tables))
    with look(page) as seen:
        assert seen.page.locator(".card h2").all_inner_texts() == ["roaming", "by chance"]
        for part in (0.1, 0.35, 0.6):
            seen.at(part)
            for run, rows in enumerate(tables):
                i = max(i for i, row in enumerate(rows) if row["start_s"] <= part * end_s)
                agrees(seen, rows, i, run)
            accuracy, curves = float(seen.fact("accuracy")), seen.page.locator(".shared .key")
            assert curves.first.locator("b").all_inner_texts() == [
                "–" if math.isnan(accuracy) else f"{accuracy:.1%}".replace("%", " %"),
                "–",
            ]
            told = curves.last.locator("b").all_inner_texts()
            lengths = [float(seen.fact("length", run)) for run in (0, 1)]
            assert [float(text.split()[0]) for text in told] == pytest.approx(lengths, rel=5e-3)


@pytest.mark.parametrize(
    ("n", "width", "rows"),
    [(6, 1440, [3, 3]), (5, 1440, [3, 2]), (2, 1440, [2]), (3, 400, [1, 1, 1])],
)
def test_cards_stand_in_rows_of_equal_number(look, page_of_run, runs, n, width, rows):
    """Six are three and three; two have their charts beside the map; on a phone one a row."""
    with look(page_of_run(*([runs / "random"] * n)), width=width) as seen:
        boxes = [card.bounding_box() for card in seen.page.locator(".card").all()]
        tops = sorted({box["y"] for box in boxes})
        assert [sum(box["y"] == top for box in boxes) for top in tops] == rows
        card, side = seen.page.locator(".card").first, seen.page.locator(".side").first
        middle_x = card.bounding_box()["x"] + card.bounding_box()["width"] / 2
        assert (side.bounding_box()["x"] > middle_x) == (n == 2)


EVIL = "</script><img src=x onerror=alert(1)><!--<script>\u2028'\"&`"


def test_text_from_a_run_is_shown_and_never_run(look, page_of_run, learns, tmp_path):
    """Names that try to be markup or script are plain text, everywhere."""
    play(parse(WORLD | {"name": EVIL, "stop": {"rounds": 2}}), tmp_path / "evil")
    config = tmp_path / "evil/config.toml"
    text = config.read_text()
    assert 'name = "dagsa"' in text
    config.write_text(text.replace('name = "dagsa"', f"name = {json.dumps(EVIL + EVIL)}"))
    page = page_of_run(tmp_path / "evil", learns)
    with look(page) as seen:
        assert seen.page.locator(".card h2").first.evaluate("e => e.textContent") == EVIL
        assert EVIL + EVIL in seen.page.locator(".card .sub").first.evaluate("e => e.textContent")
        assert EVIL in seen.page.title().replace("\u2028", "\u2028")
        assert seen.page.locator("img").count() == 0
        seen.page.locator(".shared canvas").first.hover()
        assert "onerror" in seen.tip
        assert seen.page.locator("#tip img").count() == 0
    assert page.read_text().count("<img") == 0


@pytest.mark.parametrize(("width", "height"), [(360, 740), (844, 390), (1900, 1000)])
def test_it_fits_the_screen_also_with_long_names(look, page_of_run, runs, tmp_path, width, height):
    """No sideways scrolling on a phone or anywhere, and the buttons can be reached."""
    play(parse(WORLD | {"name": "long" * 60, "stop": {"rounds": 2}}), tmp_path / "long")
    page = page_of_run(tmp_path / "long", runs / "random")
    with look(page, width=width, height=height, has_touch=True) as seen:
        wide = seen.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        for name in ("#play", "#back", "#on", "#speed", "#theme"):
            box = seen.page.locator(name).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert min(box["width"], box["height"]) >= 33
        seen.page.tap("#on")
        seen.settle()
        assert float(seen.fact("round")) == 1


def test_dark_and_light_follow_the_system_and_the_button(look, page_of_run, learns):
    """The picture and the page change colours together."""
    with look(page_of_run(learns), scheme="dark") as seen:
        ground = "getComputedStyle(document.body).backgroundColor"
        dark, picture = seen.page.evaluate(ground), seen.page.locator(".map canvas").screenshot()
        seen.page.click("#theme")
        seen.settle()
        assert seen.page.evaluate(ground) != dark
        assert seen.page.locator(".map canvas").screenshot() != picture


def test_a_run_without_user_detail_shows_what_there_is(look, page_of_run, tmp_path):
    """Stations, figures, participation and curves, and a line that says why nobody is there."""
    play(parse(WORLD | {"record": {"detail": False}}), tmp_path / "coarse")
    with look(page_of_run(tmp_path / "coarse")) as seen:
        assert "kept no user detail" in seen.page.locator(".map .note").inner_text()
        rows = table_of(tmp_path / "coarse")
        seen.at(middle(rows[7]) / end_of(rows))
        assert float(seen.fact("length")) == rows[7]["length_s"]
        assert float(seen.fact("chosen")) == rows[7]["n_selected"]


def test_a_run_that_has_not_begun_shows_an_empty_map(look, page_of_run, tmp_path):
    """Settings, but no round yet."""
    RunFolder(tmp_path / "new").begin(parse(WORLD))
    with look(page_of_run(tmp_path / "new")) as seen:
        assert seen.page.locator(".map .note").inner_text() == "No rounds yet."
        assert seen.page.locator("#clock").inner_text() == "no rounds yet"
        seen.page.click("#play")
        seen.page.keyboard.press("ArrowRight")


def test_an_unfinished_run_shows_its_rounds_so_far(look, page_of_run, learns, tmp_path):
    """Parts are read in order; a part of the users that is still to come cuts the rounds short."""
    unfinished(learns, tmp_path / "half", range(8))
    assert read_replay(tmp_path / "half").n_rounds == 8
    (tmp_path / "half/users/00000006.parquet").unlink()
    with look(page_of_run(tmp_path / "half")) as seen:
        seen.at(1.0)
        assert seen.fact("round") == "5"


def test_a_page_of_some_rounds(fedroam, look, learns, tmp_path):
    """`--rounds` cuts a long run; rounds keep their numbers."""
    rows = table_of(learns)
    fedroam("view", learns, "--rounds", "5:9", "--out", tmp_path / "cut.html", "--no-open")
    with look(tmp_path / "cut.html", moment="#round=7") as seen:
        assert float(seen.fact("round")) == 7
        assert float(seen.fact("length")) == rows[7]["length_s"]


def crowd(users, stations, rounds):
    """A run of any size, as it would be recorded."""
    rng = np.random.default_rng(0)
    station = rng.integers(-1, stations, (rounds, users))
    n_selected = (station >= 0).sum(axis=1)
    n = int(n_selected.sum())
    per_round = {name: np.zeros(rounds) for name in ("bound_s", "accuracy", "loss", "train_loss")}
    counts = {name: np.zeros(rounds, np.int32) for name in ("n_forced", "n_missed", "n_lacking")}
    arrays = {
        "station_m": rng.random((stations, 2), np.float32) * 1000,
        "capacity_hz": np.full(stations, 1e6, np.float32),
        "ready_s": np.full(users, 0.1, np.float32),
        "start_s": np.arange(rounds) * 0.5,
        "length_s": np.full(rounds, 0.5),
        **per_round,
        **counts,
        "n_selected": n_selected.astype(np.int32),
        "straggler": np.zeros(rounds, np.int32),
        "station_load": np.ones((rounds, stations), np.float32),
        "station_s": np.ones((rounds, stations), np.float32),
        "x": rng.integers(0, 65_536, (rounds, users)).astype(np.uint16),
        "y": rng.integers(0, 65_536, (rounds, users)).astype(np.uint16),
        "station": station.astype(np.int8),
        "required": np.packbits(rng.random((rounds, users)) < 0.1, axis=1, bitorder="little"),
        "finish_s": rng.uniform(0.2, 0.5, n).astype(np.float32),
        "share": rng.uniform(0, 0.02, n).astype(np.float32),
    }
    about = {"label": "crowd", "name": "crowd", "policy": "any", "seed": 0, "users": users}
    about |= {"stations": stations, "area_m": 1000.0, "band_hz": 1e6, "rho1": 0.1, "rho2": 0.5}
    return Replay(about | {"complete": True, "detail": True}, arrays)


@pytest.mark.parametrize(("users", "largest_mb"), [(50, 3), (2_000, 25)])
def test_a_page_of_200_rounds_stays_small_and_opens(look, tmp_path, users, largest_mb):
    """What there is to see of 50 and of 2,000 users in 200 rounds, in one file."""
    page = tmp_path / "crowd.html"
    write_text(page, page_of([crowd(users, users // 20 + 5, 200)]))

    assert page.stat().st_size <= largest_mb * 1e6
    with look(page) as seen:
        seen.at(0.5)
        assert seen.fact("round") == "100"
        assert shades_of(seen, ".map canvas") > 20
