"""What works without the extras, and what an installation that lacks one says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from autoprog.extras import find_extra
from tests.api.searching import patient, simple_result
from tools.installed_sizes import README, TABLE, list_installations, render_table

EXTRAS = ("search", "server", "distributed", "files", "plots", "report")
# Modules of every distribution that is not named on the command line cannot be found.
_ISOLATED = """
import sys
from importlib.metadata import packages_distributions
known = set(sys.argv[1].split(","))
absent = {module for module, owners in packages_distributions().items()
          if not {owner.lower().replace("_", "-") for owner in owners} & known}
class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent)
sys.argv = sys.argv[2:]
"""


def needed(extras: Sequence[str]) -> set[str]:
    """The distributions that an installation with these extras has, those of pip's base included."""
    found = {"pip", "setuptools"}
    waiting = [("autoprog", tuple(extras))]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) != ("autoprog", tuple(extras)) and name in found and not wanted:
            continue
        found.add(name)
        for line in requires(name) or []:
            requirement = Requirement(line)
            environments = [{"extra": extra} for extra in wanted] or [{"extra": ""}]
            if requirement.marker is None or any(requirement.marker.evaluate(each) for each in environments):
                key = canonicalize_name(requirement.name)
                if key not in found or requirement.extras:
                    waiting.append((key, tuple(sorted(requirement.extras))))
    return found


def run(extras: Sequence[str], code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    known = ",".join(sorted(needed(extras)))
    command = [sys.executable, "-c", _ISOLATED + code, known, "autoprog", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.autoprog"
    path.write_bytes(simple_result()[0].model.to_bytes())
    return path


def test_the_test_hides_what_is_not_installed() -> None:
    assert "fastapi" not in needed(["search"])
    assert {"fastapi", "sqlalchemy", "torch"} <= needed(["server"])
    assert not {"torch", "lightgbm", "distributed", "sqlalchemy", "fastapi", "matplotlib"} & needed([])
    hidden = run([], "import torch")
    assert "No module named 'torch'" in hidden.stderr


def test_a_delivered_model_predicts_without_any_extra(model: Path) -> None:
    code = (
        "import json; from pathlib import Path; from autoprog.model import PrognosticModel\n"
        "model = PrognosticModel.from_bytes(Path(sys.argv[1]).read_bytes())\n"
        "print(json.dumps([risk.to_json() for risk in model.predict(json.loads(sys.argv[2]))]))"
    )
    patients = [patient(), patient(chol=None)]
    done = run([], code, model, json.dumps(patients))
    assert done.returncode == 0, done.stderr
    expected = [risk.to_json() for risk in simple_result()[0].model.predict(patients)]
    assert json.loads(done.stdout) == json.loads(json.dumps(expected))


def test_the_command_line_predicts_without_any_extra(model: Path, tmp_path: Path) -> None:
    known = patient()
    rows = [",".join(known), ",".join(str(value) for value in known.values())]
    (tmp_path / "patients.csv").write_text("\n".join(rows))
    code = "from autoprog.cli import main; main()"
    done = run([], code, "predict", model, tmp_path / "patients.csv")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["serve"], "server"),
        (["search", "FILE", "--spec", "{}", "--out", "OUT"], "server"),
        (["cluster", "certificates", "OUT"], "search"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(command: list[str], extra: str, tmp_path: Path) -> None:
    (tmp_path / "cohort.csv").write_text("age,outcome\n1,0\n")
    places = {"FILE": tmp_path / "cohort.csv", "OUT": tmp_path / "out"}
    done = run([], "from autoprog.cli import main; main()", *[places.get(word, word) for word in command])
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert f"pip install 'autoprog[{extra}]'" in done.stderr


def test_the_server_is_its_own_extra(tmp_path: Path) -> None:
    done = run(["search"], "from autoprog.cli import main; main()", "serve", "--data-dir", tmp_path)
    assert done.returncode == 2
    assert "pip install 'autoprog[server]'" in done.stderr


@pytest.mark.parametrize("command", ["serve", "runner", "worker"])
def test_a_cluster_is_its_own_extra(command: str, tmp_path: Path) -> None:
    code = "from autoprog.cli import main; main()"
    place = [] if command == "worker" else ["--data-dir", tmp_path]
    done = run(["server"], code, command, "--scheduler", "tls://127.0.0.1:1", *place)
    line = "this command needs the module 'distributed', which is not installed: pip install 'autoprog[distributed]'"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"autoprog: {line}\n")


def test_the_estimator_names_its_extra() -> None:
    code = "import autoprog\ntry:\n    autoprog.AutoPrognosis(time_budget_s=5).fit([[0.0], [1.0]] * 20, [0, 1] * 20)"
    done = run([], code + "\nexcept ImportError as error:\n    print(error)")
    assert "pip install 'autoprog[search]'" in done.stdout, done.stderr


_ESTIMATOR = """
import autoprog.estimator, autoprog.engine, autoprog.search.runner, autoprog.storage.store, autoprog.jobs.runner
from autoprog.libraries import import_libraries
import_libraries()
"""
_SERVER = "import api.app, uvicorn, autoprog.local; from autoprog.app.service import Service"
_CERTIFICATES = """
from pathlib import Path
from autoprog.engine.cluster import make_certificates
make_certificates(Path(sys.argv[1]), 1)
"""


@pytest.mark.parametrize(
    ("extra", "code"), [("search", _ESTIMATOR), ("server", _SERVER), ("distributed", _CERTIFICATES)]
)
def test_an_extra_brings_all_that_its_part_imports(extra: str, code: str, tmp_path: Path) -> None:
    done = run([extra], code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_module_of_an_extra_is_traced_back_to_it(extra: str) -> None:
    modules = packages_distributions()
    own = [Requirement(line) for line in requires("autoprog") or []]
    marked = [(line.name, line.marker) for line in own if line.marker is not None]
    chosen = [name for name, marker in marked if marker.evaluate({"extra": extra}) > marker.evaluate({"extra": ""})]
    named = {canonicalize_name(name) for name in chosen} - {"autoprog"}
    assert named
    for distribution in named:
        tops = [top for top, owners in modules.items() if distribution in {canonicalize_name(o) for o in owners}]
        found = {find_extra(top) for top in tops if not top.startswith("_")}
        assert found & {extra, "search", "plots"}, distribution  # other extras hold these two
        assert all(distribution in needed([name]) for name in found if name)


def test_readme_has_the_size_of_every_installation() -> None:
    (table,) = TABLE.findall(README.read_text())
    sizes = dict(re.findall(r"\| `pip install '?(\.[^'`]*)'?` \| ([\d,]+) MB \|", table))
    assert list(sizes) == list_installations(), "run `python -m tools.installed_sizes`"
    assert table == render_table({name: float(size.replace(",", "")) for name, size in sizes.items()})
