"""What would make a page ask for something or run something, and what does neither."""

import pytest

from labkit.view.page_checks import reaches_out

LOADS = [
    '<script src="https://cdn.example/x.js"></script>', '<script src="x.js"></script>', "<script>fetch('/x')</script>",
    '<script type="module">1</script>', '<img src="https://a.example/x.png">', '<img src="x.png">',
    '<img srcset="x.png 2x">', '<img src=x onerror=alert(1)>', '<link rel="stylesheet" href="//a.example/x.css">',
    '<iframe src="data:text/html,x"></iframe>', '<object data="x.swf"></object>', '<base href="https://a.example/">',
    '<meta http-equiv="refresh" content="0; url=https://a.example">', '<form action="/send">',
    '<svg onload="f()"></svg>',
    '<svg><image xlink:href="x.png"/></svg>', '<svg><use href="https://a.example/x.svg#y"/></svg>',
    '<a href="java\tscript:alert(1)">x</a>', '<p style="background: url(https://a.example/x)">',
    '<video poster="x.png">', '<p style="background: image-set(&quot;x.png&quot; 1x)">',
    '<style>@import "x.css";</style>', "<style>p { background: url( 'x.png' ) }</style>", '<a href="#" ping="/p">x</a>',
]  # fmt: skip
QUIET = [
    "<p>text</p>", '<a href="https://a.example/source">source</a>', '<a href="#section-1">down</a>',
    '<a download="t.csv" href="data:text/csv;base64,YQ==">t</a>', '<img src="data:image/png;base64,AAAA">',
    '<script type="application/json">{"src": "https://a.example", "x": "<script src=y>"}</script>',
    "<style>p { background: url(data:image/png;base64,AAAA) }</style>", '<svg><use href="#mark"/></svg>',
    "<pre>&lt;script src=x&gt;</pre>", "<p>url(https://a.example)</p>", '<p title="onerror=1">x</p>',
]  # fmt: skip


@pytest.mark.parametrize("html", LOADS)
def test_what_loads_or_runs_is_found(html):
    assert reaches_out(f"<p>before</p>{html}<p>after</p>")


@pytest.mark.parametrize("html", QUIET)
def test_what_does_neither_is_not(html):
    assert reaches_out(html) == []


def test_each_place_is_shown_as_it_stands():
    assert reaches_out('<img src="x.png"><p><img src=y onerror="f()">') == [
        '<img src="x.png">',
        '<img src=y onerror="f()">',
    ]
