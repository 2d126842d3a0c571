"""The wheel holds everything that serving needs: installed in an empty folder, it carries a search."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from email.parser import Parser
from pathlib import Path

import httpx2
import pytest
from packaging.specifiers import SpecifierSet

from autoprog.cohort import cleveland
from autoprog.diagnosis.compiled import LIBRARY
from tests.deployment.installation import PATIENCE_S, free_ports, wait_until

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, which is built from the source tree."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("autoprog-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-index", "--no-deps"]
    run(*pip, "--target", folder, wheel, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def environment(installed: Path) -> dict[str, str]:
    """With `python -S`: the dependencies, and without the link to the source tree that stands beside them."""
    path = os.pathsep.join([str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AUTOPROG_", "PYTHON"))}
    return {**inherited, "PYTHONPATH": path, "AUTOPROG_WORKERS": "1"}


def list_files(*folders: str) -> set[str]:
    """Every file of some folders of the source tree, without what Python compiled."""
    files = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}


def test_content_is_the_packages_and_the_migrations(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        described = archive.read(metadata).decode()
        licences = [name for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
    migrations = {f"autoprog/_{name}" for name in list_files("migrations")}
    library = str(LIBRARY.relative_to(ROOT))
    assert names - {library} == (list_files("autoprog", "api") - {library}) | migrations
    assert (library in names) == (shutil.which("cc") is not None) == ("-py3-none-any" not in wheel.name)
    assert "License-Expression: GPL-3.0-or-later" in described.splitlines()
    assert len(licences) == 1
    assert_classified(described)


def assert_classified(described: str) -> None:
    """An index finds the package by its field, and offers it to the versions of Python that it installs on."""
    metadata = Parser().parsestr(described, headersonly=True)
    classifiers = set(metadata.get_all("Classifier", []))
    assert classifiers >= {
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Topic :: Scientific/Engineering :: Medical Science Apps.",
        "Typing :: Typed",
    }
    installs_on = SpecifierSet(metadata["Requires-Python"])
    versions = {text.rpartition(" ")[2] for text in classifiers if re.search(r"Python :: 3\.\d+$", text)}
    assert versions == {f"3.{minor}" for minor in range(30) if f"3.{minor}" in installs_on}


def test_without_a_compiler_the_wheel_is_pure_python(tmp_path: Path) -> None:
    none = {**os.environ, "CC": str(tmp_path / "none")}
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, ROOT, cwd=tmp_path, environment=none)
    (built,) = tmp_path.glob("autoprog-*.whl")
    assert built.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(built) as archive:
        assert not [name for name in archive.namelist() if Path(name).name == LIBRARY.name]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_compiled_kernel_of_the_wheel_is_used(installed: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """Where nothing can be compiled, and the installation cannot be written to."""
    code = "from autoprog.diagnosis.compiled import library; print(library()._name)"
    empty = {**environment, "PATH": str(tmp_path), "CC": "none"}
    assert Path(
        run(sys.executable, "-S", "-c", code, cwd=tmp_path, environment=empty)
    ) == installed / LIBRARY.relative_to(ROOT)


@pytest.mark.timeout(400)
def test_installed_in_an_empty_folder_it_serves(installed: Path, environment: dict[str, str], tmp_path: Path) -> None:
    python = [sys.executable, "-S"]
    code = "import sys, autoprog, api; print(autoprog.__file__, api.__file__, *sys.path, sep='\\n')"
    ours, service, *path = run(*python, "-c", code, cwd=tmp_path, environment=environment).splitlines()
    assert Path(ours) == installed / "autoprog" / "__init__.py"
    assert Path(service) == installed / "api" / "__init__.py"
    assert ROOT not in [(tmp_path / entry).resolve() for entry in path]

    (port,) = free_ports(1)
    command = [*python, installed / "bin" / "autoprog", "serve", "--port", str(port)]
    log = tmp_path / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=output, stderr=output)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_until(lambda: process.poll() is not None or is_ready(client), "the server is ready")
            assert process.poll() is None, log.read_text()
            assert_searches(client)
        process.terminate()
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "autoprog-data" / "autoprog.db").exists()


def is_ready(client: httpx2.Client) -> bool:
    try:
        return client.get("/readyz").is_success
    except httpx2.TransportError:
        return False


def assert_searches(client: httpx2.Client) -> None:
    """The children of the engine, the report's template and the cohort come from the wheel as well."""
    content, spec = cleveland()
    parts = {
        "file": ("cleveland.csv.gz", content),
        "spec": (None, spec.model_dump_json(exclude_unset=True)),
        "search": (
            None,
            '{"folds": 3, "budget": {"evaluations": 2}, "space": {"prediction": ["logistic_regression"]}}',
        ),
    }
    response = client.post("/v1/searches", files=parts)
    assert response.status_code == 202, response.text
    url = f"/v1/searches/{response.json()['id']}"
    wait_until(lambda: client.get(url).json()["finished_at"] is not None, "the search ends", PATIENCE_S)
    assert client.get(url).json()["status"] == "succeeded", client.get(url).json()["error"]
    assert "<html" in client.get(f"{url}/report").text
