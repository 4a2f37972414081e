"""Packs a library that cargo built into a wheel, for tests.

    cargo build --workspace --lib
    python crates/python/development_wheel.py target/debug/lib_volley.so target/wheels

`maturin build` builds the package by itself, with other features of dependencies than the workspace,
and so compiles all of them again. Releases come from maturin.
"""

import base64
import hashlib
import pathlib
import sys
import sysconfig
import tomllib
import zipfile

HERE = pathlib.Path(__file__).parent


def main() -> None:
    library, folder = map(pathlib.Path, sys.argv[1:])
    workspace = tomllib.loads((HERE / "../../Cargo.toml").read_text())
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    version = workspace["workspace"]["package"]["version"]
    name = project["name"].replace("-", "_")
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"cp311-abi3-{platform}"
    info = f"{name}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-{tag}.whl"
    record = []
    with zipfile.ZipFile(path, "w") as wheel:

        def add(target: str, data: bytes) -> None:
            wheel.writestr(target, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{target},sha256={digest},{len(data)}")

        for source in sorted((HERE / "python").rglob("*")):
            if source.suffix in (".py", ".pyi", ".typed") or source.name == "py.typed":
                add(str(source.relative_to(HERE / "python")), source.read_bytes())
        add("volley/_volley.abi3.so", library.read_bytes())
        add(f"{info}/METADATA", (
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"
            f"Requires-Python: {project['requires-python']}\n"
        ).encode())
        add(f"{info}/WHEEL", (
            f"Wheel-Version: 1.0\nGenerator: development_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"
        ).encode())
        points = project["entry-points"].items()
        add(f"{info}/entry_points.txt", "".join(
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in found.items())
            for group, found in points
        ).encode())
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    print(path)


if __name__ == "__main__":
    main()
