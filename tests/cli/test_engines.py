"""Who computes: mistakes are told at once."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--engine", "rya"), "engine: no 'rya'; did you mean 'ray'?"),
        (("--address", "auto"), "address is 'auto', which needs --engine ray"),
        (("--engine", "ray", "--address", "127.0.0.1:1"), "but nobody answers at"),
        (("--engine", "ray", "--address", "ray://here"), "expected 'auto' or HOST:PORT"),
    ],
)
def test_mistakes_are_told_in_one_line(fedroam, tmp_path, arguments, message):
    """An engine that is not there, an address where nobody answers, or that none is."""
    (tmp_path / "c.toml").write_text("[stop]\nrounds = 1\n")
    done = fedroam("run", "c.toml", *arguments, "--out", "never")
    assert (done.code, message in done.err) == (2, True), done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "never").exists()
