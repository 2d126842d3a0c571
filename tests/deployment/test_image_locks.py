"""What the image installs is pinned by version and digest, and agrees with what is tested."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.image_locks import LOCKS, ROOT, Pin, for_image, needed, read_pins

NAMES = ("image", "torch", "torch-cpu", "build")


def pins(name: str) -> dict[str, Pin]:
    """The pins of a lock; xgboost has two distributions, for different machines."""
    return {canonicalize_name(pin.requirement.name): pin for pin in read_pins((LOCKS / f"{name}.txt").read_text())}


def read_tested() -> Iterator[tuple[str, str]]:
    """What the tests run with."""
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        requirement = Requirement(line)
        yield canonicalize_name(requirement.name), str(requirement.specifier).removeprefix("==")


@pytest.mark.parametrize("name", NAMES)
def test_every_pin_has_a_version_and_digests(name: str) -> None:
    found = pins(name)
    assert found
    for pin in found.values():
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in pin.digests), pin.requirement


@pytest.mark.parametrize("line", ["a==1", "a --hash=sha256:0", "a>=1 --hash=sha256:0", "a==1.* --hash=sha256:0"])
def test_a_lock_without_version_or_digest_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="no version or no digest"):
        list(read_pins(line))


def test_the_image_runs_the_versions_that_are_tested() -> None:
    known = dict(read_tested())
    differing = {
        name: (pin.version, known[name])
        for name, pin in {**pins("image"), **pins("torch")}.items()
        if name in known and pin.version != known[name]
    }
    assert differing == {}


def test_all_that_the_project_asks_for_is_locked() -> None:
    locked = {**pins("image"), **pins("torch")}
    asked = [requirement for requirement in map(Requirement, needed()) if for_image(requirement)]
    assert len(asked) > 30
    for requirement in asked:
        pin = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pin.version), requirement


def test_the_locks_are_of_linux_and_do_not_overlap() -> None:
    image, torch = pins("image"), pins("torch")
    assert not image.keys() & torch.keys()
    assert all(for_image(pin.requirement) for pin in [*image.values(), *torch.values()])
    assert [pin.version for pin in pins("torch-cpu").values()] == [torch["torch"].version + "+cpu"]
    assert not {"colorama", "pywin32"} & image.keys()


def test_the_image_installs_nothing_but_what_is_locked() -> None:
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    installs = re.findall(r"pip install ([^&;|]*)", text)
    assert len(installs) == 5
    assert all("--no-deps" in line and ("--require-hashes" in line or "--no-index" in line) for line in installs)
    assert "--no-build-isolation" in text
    assert sorted(re.findall(r"locks/([\w-]+)\.txt", text)) == sorted(NAMES)
