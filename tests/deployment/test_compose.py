"""What Dockerfile and docker-compose.yml promise, read from the files: no engine is needed to break a promise."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from typer.main import get_command

from autoprog.cli import app
from autoprog.settings import Settings

ROOT = Path(__file__).parents[2]
SECRETS = ("autoprog_database_password", "autoprog_model_key", "autoprog_accepted_model_keys")
OURS = ("migrate", "certificates", "api", "runner", "scheduler", "worker")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


@pytest.fixture(scope="module")
def dockerfile() -> list[tuple[str, str]]:
    """The instructions of the last stage."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    instructions = [(word.upper(), rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]
    last_stage = max(i for i, (word, _) in enumerate(instructions) if word == "FROM")
    return instructions[last_stage:]


def option(compose: dict[str, Any], service: str, name: str) -> str:
    words: list[str] = compose["services"][service]["command"]
    return words[words.index(name) + 1]


def assert_known(command: click.Command, arguments: list[str]) -> None:
    """Check that a command line is understood; `--help` keeps it from doing anything."""
    result = CliRunner().invoke(command, [*arguments, "--help"])
    assert result.exit_code == 0, result.output


def values(dockerfile: list[tuple[str, str]], instruction: str) -> list[str]:
    return [rest for word, rest in dockerfile if word == instruction]


def test_image_is_slim_and_has_the_runtime_that_lightgbm_links(dockerfile: list[tuple[str, str]]) -> None:
    (image,) = values(dockerfile, "FROM")
    assert image.startswith("python:3.11-slim@")
    assert any("libgomp1" in run for run in values(dockerfile, "RUN"))


def test_image_does_not_run_as_root(dockerfile: list[tuple[str, str]]) -> None:
    user, _, group = values(dockerfile, "USER")[-1].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    last_words = [word for word, _ in dockerfile if word in {"USER", "RUN", "COPY"}]
    assert last_words[-1] == "USER"


def test_image_asks_its_own_health_with_the_standard_library(dockerfile: list[tuple[str, str]]) -> None:
    (check,) = values(dockerfile, "HEALTHCHECK")
    program, flag, code = json.loads(check[check.index("CMD") + len("CMD") :])
    assert (program, flag) == ("python", "-c")
    compile(code, "HEALTHCHECK", "exec")
    assert "/livez" in code
    assert re.findall(r"import (\S+)", code) == ["http.client"]


def test_image_keeps_its_data_in_a_volume(dockerfile: list[tuple[str, str]]) -> None:
    assert values(dockerfile, "VOLUME") == ["/data"]
    assert json.loads(values(dockerfile, "CMD")[-1])[-2:] == ["--data-dir", "/data"]


def test_no_package_index_is_named() -> None:
    locks = [path.relative_to(ROOT) for path in sorted((ROOT / "locks").iterdir())]
    for name in ("Dockerfile", "docker-compose.yml", "requirements.lock", "pyproject.toml", *locks):
        assert not re.search(r"https?://|--(extra-)?index-url|--find-links", (ROOT / name).read_text()), name


def test_everything_that_the_wheel_is_made_of_reaches_the_build() -> None:
    kept = {line[1:].rstrip("/") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    made_of = {"autoprog", "api", "migrations", "pyproject.toml", "hatch_build.py", "locks"}
    assert kept == {*made_of, "README.md", "LICENSE"}
    assert all((ROOT / name).exists() for name in kept)


def test_services(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"postgres", *OURS}
    assert all(compose["services"][name]["image"] == "autoprog" for name in OURS)
    major = int(compose["services"]["postgres"]["image"].partition(":")[2].partition("@")[0].split(".")[0])
    assert major >= 15


def test_only_the_api_is_published_and_by_default_on_loopback(compose: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert published == {"api": ["${PUBLISH:-127.0.0.1:8000}:8000"]}
    assert not any("network_mode" in service for service in compose["services"].values())


def test_only_the_api_stands_on_the_public_network(compose: dict[str, Any]) -> None:
    assert compose["networks"]["private"] == {"internal": True}
    for name, service in compose["services"].items():
        assert set(service["networks"]) == ({"public", "private"} if name == "api" else {"private"}), name


def test_workers_come_back_by_themselves(compose: dict[str, Any]) -> None:
    worker = compose["services"]["worker"]
    assert worker["restart"] == "always"
    assert worker["deploy"]["replicas"] == "${WORKERS:-2}"


def test_runner_and_workers_meet_at_the_scheduler(compose: dict[str, Any]) -> None:
    address = f"tls://scheduler:{option(compose, 'scheduler', '--port')}"
    assert option(compose, "runner", "--scheduler") == address
    assert option(compose, "worker", "--scheduler") == address


@pytest.mark.parametrize("name", OURS)
def test_commands_are_those_of_the_command_line(compose: dict[str, Any], name: str) -> None:
    program, *arguments = compose["services"][name]["command"]
    assert program == "autoprog"
    assert_known(get_command(app), arguments)


def test_image_starts_a_command_of_the_command_line(dockerfile: list[tuple[str, str]]) -> None:
    program, *arguments = json.loads(values(dockerfile, "CMD")[-1])
    assert program == "autoprog"
    assert_known(get_command(app), arguments)


def test_every_connection_of_the_cluster_needs_a_certificate(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name in ("runner", "scheduler", "worker"):
        assert services[name]["environment"]["AUTOPROG_CERTIFICATES"] == "/certificates"
        assert "certificates:/certificates:ro" in services[name]["volumes"]
        assert "AUTOPROG_PLAIN_SCHEDULER" not in services[name]["environment"]
    for name in ("runner", "worker"):
        assert services[name]["command"][-1].startswith("tls://")
    assert not any("certificates" in volume for name in ("api", "postgres") for volume in services[name]["volumes"])


def test_nothing_starts_before_what_it_needs(compose: dict[str, Any]) -> None:
    conditions = {
        name: {needed: entry["condition"] for needed, entry in service.get("depends_on", {}).items()}
        for name, service in compose["services"].items()
    }
    migrated, healthy = "service_completed_successfully", "service_healthy"
    assert conditions == {
        "postgres": {},
        "migrate": {"postgres": healthy},
        "api": {"migrate": migrated},
        "runner": {"migrate": migrated, "scheduler": healthy},
        "certificates": {},
        "scheduler": {"certificates": migrated},
        "worker": {"scheduler": healthy},
    }
    for name in {needed for entries in conditions.values() for needed, c in entries.items() if c == healthy}:
        assert compose["services"][name]["healthcheck"]["test"][0] == "CMD"


def test_only_the_api_keeps_the_health_check_of_the_image(compose: dict[str, Any]) -> None:
    assert "healthcheck" not in compose["services"]["api"]
    for name in ("migrate", "certificates", "runner", "worker"):
        assert compose["services"][name]["healthcheck"] == {"disable": True}


def test_secrets_have_no_default_and_reach_only_those_who_need_them(compose: dict[str, Any]) -> None:
    given = {name: service.get("secrets", []) for name, service in compose["services"].items()}
    password, *keys = SECRETS
    assert given == {
        "postgres": [password],
        **{name: [password, *keys] for name in ("migrate", "api", "runner")},
        **{name: [] for name in ("certificates", "scheduler", "worker")},
    }
    assert compose["secrets"] == {name: {"file": f"${{SECRETS:-./secrets}}/{name}"} for name in SECRETS}
    assert "/secrets/" in (ROOT / ".gitignore").read_text().splitlines()


def test_no_environment_holds_a_secret_and_every_secret_is_a_setting(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        environment = service.get("environment", {})
        assert not {variable.lower() for variable in environment} & set(SECRETS), name
        assert ("AUTOPROG_SECRETS_DIR" in environment) == (name in {"migrate", "api", "runner"}), name
        assert not re.search(r"://[^@/\s]*:[^@/\s]*@", str(environment)), name
    assert {secret.removeprefix("autoprog_") for secret in SECRETS} <= set(Settings.model_fields)
    assert compose["services"]["postgres"]["environment"]["POSTGRES_PASSWORD_FILE"] == f"/run/secrets/{SECRETS[0]}"


def test_files_are_shared_and_workers_only_read_them(compose: dict[str, Any]) -> None:
    mounts = {name: compose["services"][name]["volumes"] for name in ("api", "runner", "worker")}
    data = {name: [mount for mount in mounts[name] if mount.startswith("data:")] for name in mounts}
    assert data == {"api": ["data:/data"], "runner": ["data:/data"], "worker": ["data:/data:ro"]}
    assert set(compose["volumes"]) == {"certificates", "data", "database"}


@pytest.mark.parametrize("name", OURS)
def test_containers_run_without_privileges(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "user", "cap_add"} & set(service)


@pytest.mark.parametrize("service", [*OURS, "postgres"])
def test_a_container_is_bounded_and_writes_to_volumes_alone(compose: dict[str, Any], service: str) -> None:
    given = compose["services"][service]
    assert given["read_only"] is True
    assert given["tmpfs"]
    assert given["pids_limit"] <= 1024
    assert given["mem_limit"]
    assert given["logging"]["options"]["max-size"]
    assert given["security_opt"] == ["no-new-privileges:true"]
