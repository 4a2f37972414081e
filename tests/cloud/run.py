#!/usr/bin/env python3
"""Runs a command with an S3 server on loopback, behind the proxy of proxy.py.

    tests/cloud/run.py [--delay-ms 30] [--data FOLDER] [--server PATH] -- COMMAND...

The server is versitygw (Apache-2.0). It is taken from --server, $VERSITYGW or the path; otherwise it
is built once with `go install` into target/tools. The command gets the variables that S3 clients
read (AWS_ENDPOINT_URL, keys, region), and these:

    VOLLEY_S3_PROXY     the proxy, http://127.0.0.1:PORT, which is also AWS_ENDPOINT_URL
    VOLLEY_S3_DIRECT    the server without the proxy
    VOLLEY_S3_BUCKET    a bucket
    VOLLEY_S3_FOLDER    the folder with the objects of that bucket as files

The bucket is empty unless --data names a folder whose files it has. Server and proxy end with the
command.
"""

import argparse
import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from proxy import Proxy

PACKAGE = "github.com/versity/versitygw/cmd/versitygw"
VERSION = "v1.8.0"
BUCKET = "test"
ROOT = Path(__file__).resolve().parents[2]


def server_path(given):
    found = given or os.environ.get("VERSITYGW") or shutil.which("versitygw")
    if found:
        return found
    tools = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tools"
    path = tools / "versitygw"
    if not path.exists():
        print("building versitygw, once", file=sys.stderr)
        environment = dict(os.environ, GOBIN=str(tools))
        command = ["go", "install", "-ldflags=-s -w", f"{PACKAGE}@{VERSION}"]
        subprocess.run(command, env=environment, check=True)
    return str(path)


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def start_server(path, folder, key, secret):
    port = free_port()
    environment = dict(os.environ, ROOT_ACCESS_KEY=key, ROOT_SECRET_KEY=secret)
    command = [path, "--port", f"127.0.0.1:{port}", "--quiet", "posix", "--sidecar",
               f"{folder}/metadata", f"{folder}/data"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    for _ in range(300):
        if process.poll() is not None:
            sys.exit("the server ended at once")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process, port
        except OSError:
            time.sleep(0.1)
    process.kill()
    sys.exit("the server does not answer")


def upload(folder, url, key, secret):
    """Objects that are copied into the server's folder would have no ETag."""
    for path in sorted(it for it in folder.rglob("*") if it.is_file()):
        subprocess.run(
            ["curl", "--silent", "--show-error", "--fail", "--user", f"{key}:{secret}",
             "--aws-sigv4", "aws:amz:us-east-1:s3", "--upload-file", str(path),
             "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
             f"{url}/{path.relative_to(folder)}"], check=True)


async def main(arguments):
    with tempfile.TemporaryDirectory(prefix="volley-s3-") as folder:
        bucket = Path(folder, "data", BUCKET)
        bucket.parent.mkdir()
        Path(folder, "metadata").mkdir()
        bucket.mkdir()
        key, secret = "testuser", "testpass123"
        process, port = start_server(server_path(arguments.server), folder, key, secret)
        try:
            if arguments.data:
                upload(Path(arguments.data), f"http://127.0.0.1:{port}/{BUCKET}", key, secret)
            proxy = Proxy(port, arguments.delay_ms)
            endpoint = f"http://127.0.0.1:{await proxy.start()}"
            environment = dict(
                os.environ, AWS_ENDPOINT_URL=endpoint, AWS_ACCESS_KEY_ID=key,
                AWS_SECRET_ACCESS_KEY=secret, AWS_REGION="us-east-1", VOLLEY_S3_PROXY=endpoint,
                VOLLEY_S3_DIRECT=f"http://127.0.0.1:{port}", VOLLEY_S3_BUCKET=BUCKET,
                VOLLEY_S3_FOLDER=str(bucket))
            command = await asyncio.create_subprocess_exec(*arguments.command, env=environment)
            return await command.wait()
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--delay-ms", type=float, default=0)
    parser.add_argument("--data")
    parser.add_argument("--server")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.command[:1] == ["--"]:
        del given.command[0]
    given.command or sys.exit("no command")
    sys.exit(asyncio.run(main(given)))
