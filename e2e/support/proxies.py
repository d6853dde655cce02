"""Real reverse proxies with TLS in front of a server: the files of ``deploy/`` with ports, names and certificates of the test's own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnitalk.certificates import lan_certificate

from .server import free_port

DEPLOY = Path(__file__).parents[2] / "deploy"

NGINX = """
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
    include /etc/nginx/mime.types;
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""


def there(proxy: str) -> bool:
    """Whether this machine has it."""
    return shutil.which(proxy, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is not None


def nginx_site(
    port: int, upstream: int, mount: str, tls: tuple[Path, Path], *, keeps: bool, upgrades: bool = True, own_host: bool = False
) -> str:
    """The shipped file for this mount (``/`` or ``/talk/``), keeping the prefix or not. ``own_host``: as many other proxies do, it
    sends its own name for the server as Host, and the page's in X-Forwarded-Host.
    """
    site = (DEPLOY / "nginx/omnitalk.conf").read_text()
    site = site.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl").replace("server_name talk.example.org", "server_name localhost")
    site = site.replace("/etc/ssl/certs/omnitalk.pem", str(tls[0])).replace("/etc/ssl/private/omnitalk.key", str(tls[1]))
    site = site.replace("http://127.0.0.1:7862/;", f"http://127.0.0.1:{upstream}{'' if keeps else '/'};")
    if mount == "/":
        site = site.replace("location = /talk { return 301 /talk/; }", "").replace("location /talk/ {", "location / {")
    if mount == "/" or keeps:
        site = site.replace("proxy_set_header X-Forwarded-Prefix /talk;", "")
    if own_host:
        here = "proxy_set_header Host inner.example; proxy_set_header X-Forwarded-Host $http_host;"
        site = site.replace("proxy_set_header Host $http_host;", here)
    if not upgrades:
        site = "\n".join(
            line for line in site.splitlines() if "proxy_set_header Upgrade" not in line and "proxy_set_header Connection" not in line
        )
    return site


def caddy_site(port: int, upstream: int, mount: str, tls: tuple[Path, Path], *, keeps: bool) -> str:
    """The same for Caddy."""
    site = (DEPLOY / "caddy/Caddyfile").read_text()
    head = f"https://localhost:{port}, https://127.0.0.1:{port} {{\n\tbind 127.0.0.1\n\ttls {tls[0]} {tls[1]}"
    site = site.replace("talk.example.org {", head).replace("127.0.0.1:7862", f"127.0.0.1:{upstream}")
    if keeps:
        site = site.replace("handle_path", "handle")
    if mount == "/":
        site = site.replace("\tredir /talk /talk/ permanent\n", "").replace("handle_path /talk/*", "handle")
    if mount == "/" or keeps:
        site = site.replace("header_up X-Forwarded-Prefix /talk", "")
    return "{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + site


@contextmanager
def proxied(
    proxy: str, folder: Path, upstream: int, mount: str = "/", *, keeps: bool = False, upgrades: bool = True, own_host: bool = False
) -> Iterator[str]:
    """The proxy in front of the server on port ``upstream``; its address, which ends with the mount."""
    port, tls = free_port(), lan_certificate(folder)
    if proxy == "nginx":
        file = folder / "nginx.conf"
        site = nginx_site(port, upstream, mount, tls, keeps=keeps, upgrades=upgrades, own_host=own_host)
        file.write_text(NGINX.format(folder=folder, site=site, user="user root;" if os.getuid() == 0 else ""))
        command = [shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(file), "-p", str(folder), "-e", str(folder / "error.log")]
    else:
        file = folder / "Caddyfile"
        file.write_text(caddy_site(port, upstream, mount, tls, keeps=keeps))
        command = ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]
    with (folder / f"{proxy}.log").open("wb") as log:
        environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((folder / f"{proxy}.log").read_text()[-2000:]) from None
                time.sleep(0.05)
        yield f"https://localhost:{port}{mount}"
    finally:
        process.terminate()
        process.wait(10)
