"""The whole dashboard below a path of its host, behind a real nginx: one path that it passes as it is, as Open
OnDemand's /node/, and one that it strips, as Open OnDemand's /rnode/ and jupyter-server-proxy."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, expect

from benchmarks.dashboard import served
from tests.browser.conftest import Class, NewPage, join
from tests.browser.quiz_players import SOON, Learner, instructor
from tests.browser.test_accessibility import PAGES
from tests.support import limit, need, starts_processes, until
from workshop.core.parent_death import guarded
from workshop.core.placement import Placement
from workshop.core.ports import free_port
from workshop.sessions import lifecycle
from workshop.store.store import Store
from workshop.web.auth import new_secrets

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(300))]
PREFIXES = ("/node/n1/8501", "/rnode/n1/8501")
CONFIGURATION = """
daemon off; error_log {folder}/nginx.log; pid {folder}/nginx.pid; worker_processes 1; events {{}}
http {{
  access_log off; client_max_body_size 64m; proxy_read_timeout 600s;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_of_sockets {{ default upgrade; '' close; }}
  proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection $connection_of_sockets;
  server {{
    listen 127.0.0.1:{port};
    location /node/n1/8501 {{ proxy_pass http://127.0.0.1:{dashboard}; }}
    location /rnode/n1/8501/ {{
      proxy_pass http://127.0.0.1:{dashboard}/;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_of_sockets;
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Prefix /rnode/n1/8501;
    }}
  }}
}}
"""
DECK = """
deck: trial
title: Below a path
questions:
  - id: start
    type: single
    text: How many ranks does `mpirun -n 4` start?
    options: [{text: four, right: true}, {text: one}]
"""
# Of every element, where its addresses lead to; what is in the page itself is left out.
ADDRESSES = """() => [...document.querySelectorAll("[href], [src], [action]")]
  .flatMap((element) => [element.href, element.src, element.action])
  .filter((address) => typeof address === "string" && address.startsWith("http"))"""


def answers(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
@starts_processes
def behind(workshop_home: Path, tmp_path: Path) -> Iterator[Class]:
    """A class with two ranks, whose dashboard is behind nginx; its url has no prefix yet."""
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    need(nginx is not None, "nginx (apt-get install nginx-light)")
    assert nginx is not None
    with Store.open() as store:
        token, code = new_secrets(store)
        record, conductor = lifecycle.start_session(store, "class", Placement(ranks=2), attached=True)
        try:
            with served(proxy="127.0.0.1", prefix=PREFIXES[0]) as (_, dashboard):
                port = free_port()
                file = tmp_path / "nginx.conf"
                file.write_text(CONFIGURATION.format(folder=tmp_path, port=port, dashboard=dashboard))
                with subprocess.Popen(guarded([nginx, "-e", "stderr", "-c", str(file)])) as proxy:
                    try:
                        until(lambda: answers(port), 30, "nginx")
                        ready = lifecycle.wait_ready(store, record, conductor)
                        yield Class(store, ready, f"http://127.0.0.1:{port}", token, code)
                    finally:
                        proxy.terminate()
        finally:
            lifecycle.end_conductor(conductor)


def watched(page: Page, prefix: str) -> list[str]:
    """The addresses that a page asks for outside of its prefix, from now on."""
    outside: list[str] = []

    def look(request: Request) -> None:
        if request.url.startswith("http") and not f"{urlsplit(request.url).path}/".startswith(f"{prefix}/"):
            outside.append(request.url)

    page.context.on("request", look)
    page.on("websocket", lambda line: prefix in line.url or outside.append(line.url))
    return outside


def leads(page: Page, prefix: str) -> list[str]:
    """The addresses in a page that lead out of its prefix."""
    return [address for address in page.evaluate(ADDRESSES) if not urlsplit(address).path.startswith(f"{prefix}/")]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_everything_is_below_the_prefix(behind: Class, new_page: NewPage, prefix: str) -> None:
    here = replace(behind, url=f"{behind.url}{prefix}")
    page = new_page()
    outside = watched(page, prefix)
    page.goto(f"{here.url}{'' if prefix == PREFIXES[0] else '/'}?token={here.token}")
    page.wait_for_url(f"{here.url}/")
    found: list[str] = []
    way_in = f"{here.url.removeprefix('http://')}/join"
    expect(page.locator(".ws-way-in b").first).to_have_text(way_in)
    for path, text in {**PAGES, "/progress": "Class", "/accessibility": "axe", "/nowhere/at/all": "no page"}.items():
        page.goto(f"{here.url}{path}")
        expect(page.get_by_text(text).filter(visible=True).first).to_be_visible(timeout=limit(60) * 1000)
        found += leads(page, prefix)
    assert found == []

    # A learner comes in, and runs k-means.
    phone = new_page(390, 844)
    outside += watched(phone, prefix)
    join(phone, here, "Ada", "/run")
    phone.wait_for_url(f"{here.url}/run")
    phone.get_by_role("button", name="Start the run").click()
    live = phone.locator(".ws[data-status=completed]")
    live.wait_for(timeout=limit(120) * 1000)
    assert leads(phone, prefix) == []
    page.goto(f"{here.url}/home")
    page.wait_for_url(f"{here.url}/")

    screen = page.context.new_page()
    screen.goto(f"{here.url}/session?projector=1")
    expect(screen.locator(".ws-address")).to_have_text(way_in)

    # A live round; its projector's code leads below the prefix, too.
    where, code = instructor(page, here.url, here.token, DECK)
    page.goto(f"{where}/host")
    projector = page.context.new_page()
    projector.goto(f"{where}/projector")
    expect(projector.locator("img.qr")).to_have_attribute(
        "alt", f"QR code of {here.url}/quiz?code={code}", timeout=SOON
    )
    player = Learner(new_page())
    outside += watched(player.page, prefix)
    player.join(here.url, code, "Bo")
    page.locator("button.next").click()
    player.choose("four")
    results = page.context.new_page()
    results.goto(f"{where}/results")
    results.get_by_role("link", name="Without nicknames").click()
    results.wait_for_url(f"{where}/results?anonymous=1")
    for shown in (page, screen, projector, player.page, results):
        assert leads(shown, prefix) == []
    assert outside == []

    # Its cookie holds here alone.
    names = {cookie["path"] for cookie in page.context.cookies() if cookie["name"].startswith("workshop_")}
    assert names == {prefix}
    other = next(each for each in PREFIXES if each != prefix)
    page.goto(f"{behind.url}{other}/")
    page.wait_for_url(f"{behind.url}{other}/join")
    until(lambda: not leads(page, other), 30, "the form below the other prefix")
