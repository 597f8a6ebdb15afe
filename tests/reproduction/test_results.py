"""What is committed under docs/results follows from the committed tables, to the byte."""

import importlib.util
from pathlib import Path

import pytest

from fedroam.reproduction.results import folders_in

DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = folders_in(DOCS / "results")


@pytest.fixture(scope="module")
def make():
    """docs/results/make.py, which is a script."""
    spec = importlib.util.spec_from_file_location("make_results", DOCS / "results" / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(make, tmp_path_factory):
    """Differences, figures and the page, made anew."""
    into = tmp_path_factory.mktemp("made")
    make.main(into / "results", into / "results.md")
    return into


def test_the_page_follows_from_the_tables(made):
    """Every block of docs/results.md is what its tables say."""
    assert (made / "results.md").read_text() == (DOCS / "results.md").read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: "/".join(f.parts[-3:]))
def test_differences_and_figures_follow_from_the_tables(made, folder):
    """Byte for byte, and nothing lies there that nobody makes."""
    again = made / folder.relative_to(DOCS)
    derived = {path.name for path in again.iterdir()}
    kept = {path.name for path in folder.iterdir()}
    assert derived <= kept
    assert {name for name in kept if not name.endswith((".csv", ".toml", ".json"))} <= derived
    for name in sorted(derived):
        assert (again / name).read_bytes() == (folder / name).read_bytes(), name


def test_a_block_of_the_page_that_nobody_can_make_is_an_error(make):
    """It is not left as it is in silence."""
    with pytest.raises(KeyError, match="dreams"):
        make.filled("<!-- made: dreams quick -->\nold\n<!-- end -->")


def test_a_block_that_was_edited_by_hand_is_made_anew(make):
    """Nobody can slip a figure in."""
    text = (DOCS / "results.md").read_text()
    forged = make.BLOCK.sub(lambda b: f"<!-- made: {b['call']} -->\n99 %\n<!-- end -->", text)
    assert forged != text
    assert make.filled(forged) == text
