"""Fails when a dependency needs a newer compiler than the workspace says.

    python tests/tools/check_rust_versions.py

Reads `cargo metadata` of the locked versions; needs no network once they are downloaded.
"""

import json
import subprocess
import sys


def version(text):
    return tuple(int(part) for part in (text.split(".") + ["0", "0"])[:3])


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    metadata = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    members = set(metadata["workspace_members"])
    packages = metadata["packages"]
    ours = next(it["rust_version"] for it in packages if it["id"] in members and it["rust_version"])
    newer = [
        f"{it['name']} {it['version']} needs Rust {it['rust_version']}"
        for it in packages
        if it["rust_version"] and version(it["rust_version"]) > version(ours)
    ]
    print("\n".join(newer) or f"{len(packages)} packages build with Rust {ours}")
    sys.exit(bool(newer))


if __name__ == "__main__":
    main()
