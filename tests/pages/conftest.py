"""Runs to look at, and the browser to look with."""

import json
from contextlib import contextmanager

import pytest

from fedroam.runs import parse, play
from looking import LEARNING, WORLD, Seen, browser


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Two policies in one world, certified; the first with learning."""
    home = tmp_path_factory.mktemp("runs")
    certified = {"record": {"certify": "prices"}}
    evaluation = {"evaluation": {"every_rounds": 2}}
    play(parse(WORLD | certified | evaluation | {"learning": LEARNING}), home / "learns")
    play(parse(WORLD | certified | {"policy": "random", "name": "by chance"}), home / "random")
    return home


@pytest.fixture(scope="session")
def learns(runs):
    """The folder of a run with learning."""
    return runs / "learns"


@pytest.fixture(scope="session")
def chromium():
    """Headless Chromium; `make test` installs it where there is none."""
    with browser() as headless:
        yield headless


@pytest.fixture
def look(chromium):
    """Open a page in a fresh browser profile; in the end it has said and loaded nothing."""
    contexts = []

    @contextmanager
    def open_page(
        path,
        moment="#t=0",
        width=1280,
        height=860,
        scheme="light",
        ready="html[data-ready]",
        **more,
    ):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, **more
        )
        contexts.append(context)
        seen = Seen(context.new_page())
        seen.page.on("console", lambda message: seen.said.append(message.text))
        seen.page.on("pageerror", lambda error: seen.said.append(str(error)))
        seen.page.on("dialog", lambda dialog: (seen.said.append(dialog.message), dialog.dismiss()))
        seen.page.on("request", lambda request: seen.asked.append(request.url))
        url = path if isinstance(path, str) else path.resolve().as_uri()
        seen.page.goto(url + moment)
        seen.page.wait_for_selector(ready)
        seen.settle()
        yield seen
        assert seen.said == []
        home = url.rsplit("/", 1)[0]
        assert all(asked.startswith((home, "data:,")) for asked in seen.asked), seen.asked

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page_of_run(fedroam, tmp_path):
    """The page that `fedroam view` writes."""

    def write(*folders):
        done = fedroam("view", *folders, "--out", tmp_path / "page.html", "--no-open", "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["bytes"] == (tmp_path / "page.html").stat().st_size
        return tmp_path / "page.html"

    return write
