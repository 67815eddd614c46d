"""Remote places: whatever papermill has a handler for, and words where there is none."""

import pytest
from papermill.iorw import papermill_io

from labkit.errors import ConfigError, ReportError
from labkit.view.destination import checked, fetch, is_remote, put


class Store(dict):
    """A papermill handler that keeps what it is given."""

    def write(self, text, path):
        self[path] = text

    def read(self, path):
        return self[path]


@pytest.fixture
def store(monkeypatch):
    made = Store()
    monkeypatch.setattr(papermill_io, "_handlers", [*papermill_io._handlers, ("mem://", made)])
    return made


@pytest.mark.parametrize(
    ("place", "remote"),
    [("reports", False), ("./a/b", False), ("/a/b", False), ("C:/a", False), ("s3://a/b", True), ("gs://a", True)],
)
def test_which_places_are_remote(place, remote):
    assert is_remote(place) is remote


@pytest.mark.parametrize(
    "place", ["s3://bucket/x", "gs://bucket", "abs://account.blob.core.windows.net/x", "adl://a", "hdfs://a"]
)
def test_places_of_papermill_are_taken(place):
    assert checked(place + "/") == place


@pytest.mark.parametrize("place", ["ftp://a/b", "https://a/b", "http://a"])
def test_other_places_are_a_mistake(place):
    """papermill itself would write ``ftp://…`` into a local folder of that name."""
    with pytest.raises(ConfigError, match=f"papermill cannot write reports to {place}; give a folder, or s3://"):
        checked(place)


def test_a_file_goes_out_and_comes_back(store, tmp_path):
    (tmp_path / "a.html").write_text("<p>ü</p>", encoding="utf-8")
    put(tmp_path / "a.html", checked("mem://x/y/"))
    assert store == {"mem://x/y/a.html": "<p>ü</p>"}
    assert fetch("a.html", "mem://x/y") == "<p>ü</p>"
    assert fetch("b.html", "mem://x/y") is None


def test_bytes_of_a_handler_are_text(store):
    store["mem://x/a.json"] = "ü".encode()
    assert fetch("a.json", "mem://x") == "ü"


def test_a_place_that_takes_nothing_is_said_in_words(tmp_path):
    """boto3 is not installed here."""
    (tmp_path / "a.html").write_text("x")
    with pytest.raises(ReportError, match=r"cannot write s3://bucket/a\.html: .*boto3.*papermill\[all\]"):
        put(tmp_path / "a.html", "s3://bucket")
    assert fetch("a.html", "s3://bucket") is None
