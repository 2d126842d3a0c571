"""Pin the images that Dockerfile and docker-compose.yml start from to the digests that their tags have now.

    python -m tools.image_digests

The registry is asked by `docker buildx imagetools inspect`, which needs no running Docker. The digest is that of the
index of all platforms. A tag that the registry does not know, or an answer that is no digest, changes nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ("Dockerfile", "docker-compose.yml")
IMAGE = re.compile(
    r"^(?P<place>FROM|\s+image:) (?P<tag>[\w./-]+:[\w.-]+)(?:@(?P<digest>sha256:[0-9a-f]{64}))?(?=\s|$)", re.MULTILINE
)
"""Where an image with a tag is named; the image that is built here has none."""


@cache
def ask_registry(tag: str) -> str:
    """Return the digest of a tag; exits if the registry gives none."""
    command = ["docker", "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", tag]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  a tag of ours
    except OSError as error:
        sys.exit(f"docker cannot be run: {error.strerror}")
    digest = asked.stdout.strip()
    if asked.returncode or not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        sys.exit(f"{tag}: no digest: {(asked.stderr.strip() or digest)[-500:]}")
    return digest


def pin(text: str, find: Callable[[str], str]) -> str:
    """Name every image of a file by its tag and the digest that `find` returns for it."""
    return IMAGE.sub(lambda found: f"{found['place']} {found['tag']}@{find(found['tag'])}", text)


def main() -> None:
    """Rewrite the files; all tags are looked up before the first is written."""
    pinned = {name: pin((ROOT / name).read_text(), ask_registry) for name in FILES}
    for name, text in pinned.items():
        (ROOT / name).write_text(text)
        for found in IMAGE.finditer(text):
            print(f"{name}: {found['tag']}@{found['digest']}")


if __name__ == "__main__":
    main()
