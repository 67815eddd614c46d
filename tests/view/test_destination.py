"""Remote places: whatever papermill has a handler for, its own handlers with their clouds' clients replaced, and words
where a client is missing."""

import pytest
from papermill import iorw
from papermill.iorw import papermill_io

from labkit.errors import ConfigError, ReportError
from labkit.view.destination import checked, is_remote, put

SAS = "sv=2022&sig=top-secret"


class Store(dict):
    """A papermill handler that keeps what it is given."""

    def write(self, text, path):
        self[path] = text


@pytest.fixture
def store(monkeypatch):
    made = Store()
    monkeypatch.setattr(papermill_io, "_handlers", [*papermill_io._handlers, ("mem://", made)])
    return made


@pytest.mark.parametrize(
    ("place", "remote"),
    [
        ("reports", False), ("./a/b", False), ("/a/b", False), ("C:/a", False),
        ("s3://a/b", True), ("gs://a", True), ("S3://a", True),
    ],
)  # fmt: skip
def test_which_places_are_remote(place, remote):
    assert is_remote(place) is remote


@pytest.mark.parametrize(
    "place", ["s3://bucket/x", "gs://bucket", f"abs://a.blob.core.windows.net/x?{SAS}", "adl://a", "hdfs://a/"]
)
def test_places_of_papermill_are_taken(place):
    assert checked(place) == place


@pytest.mark.parametrize("place", ["ftp://a/b", "https://a/b", "http://a", "S3://a"])
def test_other_places_are_a_mistake(place):
    """papermill itself would write ``ftp://…`` into a local folder of that name."""
    with pytest.raises(ConfigError, match=f"papermill cannot write reports to {place}; give a folder, or s3://"):
        checked(place)


@pytest.mark.parametrize("place", ["mem://x/y", "mem://x/y/"])
def test_a_file_goes_into_the_place(store, place):
    put("a.html", "<p>ü</p>", place)
    assert store == {"mem://x/y/a.html": "<p>ü</p>"}


# --- papermill's own handlers, the client of each cloud replaced by a list of what it was asked


def test_s3(monkeypatch):
    asked = []

    class Client:
        def cp_string(self, text, path):
            asked.append((path, text))

    monkeypatch.setattr(iorw, "S3", Client)
    put("a.html", "<p>", "s3://bucket/team/")
    assert asked == [("s3://bucket/team/a.html", "<p>")]


def test_abs_keeps_the_token_behind_the_name(monkeypatch):
    asked = []

    class Client:
        def write(self, text, path):
            asked.append((path, text))

    monkeypatch.setattr(iorw, "AzureBlobStore", Client)
    monkeypatch.setattr(_handler_of("abs://"), "_client", None)
    put("a.html", "<p>", f"abs://me.blob.core.windows.net/box/team?{SAS}")
    assert asked == [(f"abs://me.blob.core.windows.net/box/team/a.html?{SAS}", "<p>")]


def test_gs(monkeypatch, tmp_path):
    class Client:
        def open(self, path, mode):
            assert path == "gs://bucket/team/a.html"
            return (tmp_path / "a.html").open(mode)

    monkeypatch.setattr(iorw, "GCSFileSystem", Client)
    monkeypatch.setattr(_handler_of("gs://"), "_client", None)
    put("a.html", "<p>", "gs://bucket/team")
    assert (tmp_path / "a.html").read_text() == "<p>"


def _handler_of(scheme):
    return dict(papermill_io._handlers)[scheme]


@pytest.mark.parametrize(
    ("place", "client", "package", "extra"),
    [
        ("s3://bucket", "S3", "boto3", "s3"),
        ("gs://bucket", "GCSFileSystem", "gcsfs", "gcs"),
        ("abs://me.blob.core.windows.net/box", "AzureBlobStore", "azure.storage.blob", "azure"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(monkeypatch, place, client, package, extra):
    monkeypatch.setattr(iorw, client, iorw.missing_dependency_generator(package, extra))
    if hasattr(handler := _handler_of(place.split("//")[0] + "//"), "_client"):
        monkeypatch.setattr(handler, "_client", None)
    with pytest.raises(ConfigError, match=rf"cannot write {place}/a\.html: .*{package}.*papermill\[{extra}\]"):
        put("a.html", "x", place)


def test_a_place_that_takes_nothing_is_said_in_words_without_its_token(store, monkeypatch):
    def refuse(text, path):
        raise PermissionError(f"no entry to {path}")

    monkeypatch.setattr(store, "write", refuse, raising=False)
    with pytest.raises(ReportError, match=r"cannot write mem://x/a\.html: PermissionError: no entry to") as caught:
        put("a.html", "x", f"mem://x?{SAS}")
    assert "top-secret" not in str(caught.value)
