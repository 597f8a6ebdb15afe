"""A comparison's folder: what it is a comparison of, beside the run folders of its members."""

from dataclasses import replace
from pathlib import Path

from fedroam.comparison.compare import Comparison, Member, members_of, read_comparison
from fedroam.errors import ConfigError
from fedroam.files import make_folder, write_text
from fedroam.runs import RunFolder, Settings, parse, to_toml
from fedroam.runs.folder import difference, told
from fedroam.runs.settings import Comparing, choice, read_table

NOTE = "compare.toml"


def begin_comparison(settings: Settings, members: list[list[Member]], folder: Path) -> None:
    """
    Make the folder; ConfigError where it holds anything else than this comparison.

    Other policies and seeds extend a comparison; all else has to be the same for its members.
    """
    note = folder / NOTE
    if note.exists():
        there, here = (_common(s) for s in (parse(read_table(note)), settings))
        if there != here:
            raise ConfigError(
                f"{folder} holds another comparison (its settings differ in "
                f"{difference(there, here)}); choose another --out"
            )
    elif folder.exists() and not _is_as_good_as_empty(folder):
        raise ConfigError(f"{folder} exists and is no comparison; choose another --out")
    for member in (member for row in members for member in row):
        RunFolder(member.folder).check(member.settings)
    with told(folder):
        make_folder(folder)
        write_text(note, to_toml(settings))


def open_comparison(folder: Path) -> tuple[Settings, Comparison]:
    """
    What was compared in ``folder``, and what came out: its settings and its comparison.

    Of one that is still being played: the policies that have been played under all seeds.
    """
    if not (folder / NOTE).exists():
        raise ConfigError(f"{folder} is no comparison's folder, it holds no {NOTE}")
    settings = parse(read_table(folder / NOTE))
    members = members_of(settings, folder)
    played = [row for row in members if all(RunFolder(m.folder).is_complete for m in row)]
    if not played:
        raise ConfigError(f"{folder}: no policy has been played under all of its seeds yet")
    return settings, read_comparison(played)


def _common(settings: Settings) -> Settings:
    """What all members of a comparison have in common, whatever it is called."""
    return replace(settings, name="", policy=choice("policy"), compare=Comparing())


def _is_as_good_as_empty(folder: Path) -> bool:
    """Nothing but what a start that was cut short may leave behind."""
    return folder.is_dir() and all(
        file.name.startswith(f".{NOTE}.") and file.name.endswith(".part")
        for file in folder.iterdir()
    )
