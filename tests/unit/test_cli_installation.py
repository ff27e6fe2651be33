"""The installation: what is there, what is missing, and what to do about it."""

import pytest

from thusfar import __version__
from thusfar.cli import installation
from thusfar.cli.doctor import UNSAFE, doctor
from thusfar.cli.installation import (
    Extra,
    SQLite,
    Tokenizer,
    has_wal_fix,
    inspect_installation,
)


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        ("3.40.1", False),
        ("3.51.2", False),
        ("3.51.3", True),
        ("3.53.0", True),
        ("3.54.1", True),
        ("4.0", True),
    ],
)
def test_the_fix_of_the_wal_reset_bug_came_with_3_51_3(version, fixed):
    assert has_wal_fix(version) is fixed


def test_this_installation_is_described():
    found = inspect_installation()

    assert found.thusfar == __version__
    assert found.python.split()[1].startswith("3.")
    assert found.sqlite.wal_fix
    assert found.sqlite.apsw.startswith(found.sqlite.version.rsplit(".", 1)[0])
    assert list(found.packages) == ["msgspec", "apsw", "jinja2", "cyclopts", "rich"]
    assert "missing" not in found.packages.values()


def test_the_estimator_is_always_there_and_the_others_say_what_to_install():
    tokenizers = {each.name: each for each in inspect_installation().tokenizers}

    assert tokenizers["estimate"] == Tokenizer(
        name="estimate", available=True, confidence="estimated"
    )
    assert set(tokenizers) == {
        "estimate",
        "o200k_base",
        "cl100k_base",
        "tiktoken:o200k_base",
        "tiktoken:cl100k_base",
    }
    assert all(each.available or "thusfar[tokens]" in each.fix for each in tokenizers.values())


def test_extras_are_read_from_the_metadata_of_the_package(monkeypatch):
    needed = [
        "msgspec>=0.19",
        "toktok-rs>=0.3; extra == 'tokens'",
        'psycopg[binary,pool]>=3.2; python_version > "3" and extra == "postgres"',
        "a-package-that-is-nowhere; extra == 'postgres'",
    ]
    monkeypatch.setattr(installation, "requires", lambda _: needed)

    extras = inspect_installation().extras

    assert [each.name for each in extras] == ["postgres", "tokens"]
    assert extras[0] == Extra(
        name="postgres",
        packages=("psycopg", "a-package-that-is-nowhere"),
        missing=tuple(
            name
            for name in ("psycopg", "a-package-that-is-nowhere")
            if installation._version_of(name) is None
        ),
        install="pip install 'thusfar[postgres]'",
    )
    assert "a-package-that-is-nowhere" in extras[0].missing


def test_a_package_that_was_never_installed_has_no_extras(monkeypatch, capsys):
    def nothing(name):
        raise installation.PackageNotFoundError(name)

    monkeypatch.setattr(installation, "requires", nothing)

    assert inspect_installation().extras == ()
    assert doctor() == 0
    assert "Not known: the package runs without having been installed." in capsys.readouterr().out


def test_an_unsafe_sqlite_is_told_and_exits_with_1(monkeypatch, capsys):
    old = SQLite(version="3.40.1", apsw="3.40.1.0", wal_fix=False)
    monkeypatch.setattr(installation, "_sqlite", lambda: old)

    assert doctor() == UNSAFE == 1
    assert "This SQLite can damage a WAL database" in capsys.readouterr().out
