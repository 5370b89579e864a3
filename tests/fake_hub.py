"""A local server that imitates the Hugging Face hub and its failures.

It serves repository info, the tree, `resolve` with redirects and ETags, ranges, connections that break in the
middle, content that does not match the checksum, gated repositories, and plain files below `/files/`.
"""

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

LARGE = 64  # files of at least this size are stored separately, like LFS


class FakeHub:
    """Content and failures of a local hub; `asked` lists (method, path).

    Example: `hub = FakeHub(); hub.put("model", "some/encoder", commit, files)`, then `with hub.served() as
    url: ...`.
    """

    def __init__(self):
        self.repositories = {}  # (kind, name): (commit, {file: content})
        self.files = {}
        self.gated = {}  # name: 401 or 403
        self.breaks = {}  # part of a path: number of bytes after which a connection breaks, once
        self.wrong = set()  # sha256 of contents that are corrupted on the way
        self.gone = ""  # part of paths without an answer, as if the server were down
        self.asked = []
        self.ranges = []

    def put(self, kind, name, commit, files):
        """Add the files of a repository as a commit of the branch main.

        Args:
            kind: "model" or "dataset".
            name: Repository, such as "some/pairs".
            commit: Hash of the commit, 40 hex digits.
            files: Dict from path to content, a string or bytes.
        """
        contents = {}
        for path, text in files.items():
            contents[path] = text.encode() if isinstance(text, str) else text
        self.repositories[kind, name] = (commit, contents)

    @contextmanager
    def served(self):
        """Serve on a free port of this machine; yield the URL."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"hub": self}))
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()


def sums(content):
    """Return git's blob id and the sha256 of a content, both as hex strings."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content)
    return blob.hexdigest(), hashlib.sha256(content).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        hub, path = self.hub, unquote(self.path.partition("?")[0])
        hub.asked.append((self.command, path))
        if hub.gone and hub.gone in path:
            self.close_connection = True
            return self.connection.shutdown(2)
        if path.startswith("/files/"):
            return self.content(path, hub.files.get(path.removeprefix("/files/")))
        if path.startswith("/cdn/"):
            held = (file for _, files in hub.repositories.values() for file in files.values())
            return self.content(path, next(one for one in held if sums(one)[1] == path.removeprefix("/cdn/")))
        return self.repository(path)

    def repository(self, path):
        """Answer requests for the tree and the files of a revision.

        The paths are `/api/datasets/a/b/tree/REVISION` and `/datasets/a/b/resolve/REVISION/FILE`.
        """
        cells = path.strip("/").split("/")
        api = cells[0] == "api"
        cells = cells[api:]
        kind = "dataset" if cells[0] == "datasets" else "model"
        cells = cells[1:] if cells[0] in ("datasets", "models") else cells
        verb = next((word for word in ("tree", "revision", "resolve", "commits") if word in cells), None)
        at = cells.index(verb) if verb else len(cells)
        name = "/".join(cells[:at])
        if name in self.hub.gated:
            status = self.hub.gated[name]
            return self.send(status, b"{}", {"X-Error-Code": "GatedRepo", "X-Error-Message": "gated"})
        if (kind, name) not in self.hub.repositories:
            return self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        commit, files = self.hub.repositories[kind, name]
        if verb and cells[at + 1] not in ("main", commit):
            return self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        if verb == "resolve":
            return self.resolve(commit, files, "/".join(cells[at + 2 :]))
        if verb == "tree":
            return self.json([tree_entry(path, content) for path, content in sorted(files.items())])
        if verb == "commits":
            written = {"date": "2021-09-03T00:00:00.000Z", "authors": [], "title": "", "message": ""}
            return self.json([{"id": commit, **written}])
        siblings = [{"rfilename": path} for path in sorted(files)]
        return self.json({"id": name, "sha": commit, "private": False, "siblings": siblings, "tags": []})

    def resolve(self, commit, files, file):
        if file not in files:
            return self.send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        content = files[file]
        blob, sha256 = sums(content)
        if len(content) < LARGE:
            return self.content(f"/{file}", content, {"X-Repo-Commit": commit, "ETag": f'"{blob}"'})
        linked = {"X-Linked-Etag": f'"{sha256}"', "X-Linked-Size": str(len(content)), "X-Repo-Commit": commit}
        # As on the hub, another host serves the content.
        elsewhere = f"http://localhost:{self.server.server_port}/cdn/{sha256}"
        return self.send(302, b"", {**linked, "ETag": f'"{blob}"', "Location": elsewhere})

    def content(self, path, content, headers=None):
        if content is None:
            return self.send(404, b"no such file")
        if sums(content)[1] in self.hub.wrong:
            content = content[:-1] + bytes([content[-1] ^ 1])
        status, start = 200, 0
        if wanted := self.headers.get("Range"):
            self.hub.ranges.append(wanted)
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
            if start >= len(content):
                return self.send(416, b"")
            status = 206
            span = f"bytes {start}-{len(content) - 1}/{len(content)}"
            headers = {**(headers or {}), "Content-Range": span}
        cut = next((self.hub.breaks.pop(part) for part in list(self.hub.breaks) if part in path), None)
        if self.command == "HEAD" or cut is None:
            return self.send(status, content[start:], headers)
        self.send(status, content[start:], headers, upto=cut)
        self.close_connection = True
        self.connection.shutdown(2)

    def json(self, value):
        self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def send(self, status, body, headers=None, upto=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:upto])
            self.wfile.flush()

    def log_message(self, *_):
        pass


def tree_entry(path, content):
    blob, sha256 = sums(content)
    entry = {"type": "file", "path": path, "size": len(content), "oid": blob}
    if len(content) >= LARGE:
        entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 130}
    return entry
