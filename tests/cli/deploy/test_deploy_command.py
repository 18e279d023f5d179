"""``tablewright deploy``: what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tablewright.cli import main
from tablewright.deploy.package.building import BuiltPackage
from tests.deploy.stacks import read_yaml, stack, variables

pytestmark = pytest.mark.requirement("SH1")


def test_the_stack_of_a_system_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "calls", "--environment", "dev", "--out", str(tmp_path / "made")]) == 0
    template = read_yaml((tmp_path / "made" / "template.yaml").read_text("utf-8"))
    assert template["Parameters"]["Environment"]["Default"] == "dev"
    assert template["Resources"]["ApiFunction"]["Properties"]["Environment"]["Variables"]["TABLEWRIGHT_SYSTEM"] == (
        "tablewright.systems.calls.calls_system:system"
    )
    shown = capsys.readouterr()
    assert "AlarmMail" in shown.out
    assert shown.err == ""


def test_the_stack_of_a_design_in_a_file_is_written(tmp_path: Path) -> None:
    design = Path(__file__).parents[3] / "examples" / "designs" / "ecommerce.py"
    assert main(["deploy", str(design), "--out", str(tmp_path)]) == 0
    template = read_yaml((tmp_path / "template.yaml").read_text("utf-8"))
    assert not [each for each in template["Resources"].values() if each["Type"] == "AWS::Lambda::Function"]


SECRET = "{{resolve:secretsmanager:models:SecretString:scores}}"
CREDENTIALS = json.dumps({"scores": {"host": "models.example.org", "value": SECRET}})


@pytest.mark.parametrize("form", [(), ("--container",)], ids=["functions", "container"])
def test_settings_reach_the_programs_and_are_kept_by_upgrades(
    form: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(folder: str, *options: str) -> dict[str, Any]:
        assert main(["deploy", "engagement", *form, "--out", str(tmp_path / folder), *options]) == 0
        found = variables(read_yaml((tmp_path / folder / "template.yaml").read_text("utf-8")))
        return {name: found[name] for name in sorted(found.keys() & asked)}

    asked = {"TABLEWRIGHT_CORS_ORIGINS", "TABLEWRIGHT_LOG_LEVEL", "TABLEWRIGHT_OUTBOUND_CREDENTIALS"}
    # Those of whoever runs this are no concern of the stack.
    monkeypatch.setenv("TABLEWRIGHT_LOG_LEVEL", "NONE")
    origins = "https://a.example.org,https://b.example.org"
    first = ["--setting", f"cors_origins={origins}", "--setting", "LOG_LEVEL=WARNING"]
    assert written("one", *first) == {"TABLEWRIGHT_CORS_ORIGINS": origins, "TABLEWRIGHT_LOG_LEVEL": "WARNING"}
    then = [
        "--after",
        str(tmp_path / "one"),
        "--setting",
        "log_level=",
        "--setting",
        f"outbound_credentials={CREDENTIALS}",
    ]
    kept = {"TABLEWRIGHT_CORS_ORIGINS": origins, "TABLEWRIGHT_OUTBOUND_CREDENTIALS": CREDENTIALS}
    assert written("two", *then) == kept
    assert written("three", "--after", str(tmp_path / "two")) == kept


@pytest.mark.parametrize("name", ["--python", "--architecture"])
def test_a_stack_runs_each_package_that_can_be_built(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parameter = stack("tasks").template["Parameters"][name.removeprefix("--").capitalize()]
    made = []

    def built(place: str, architecture: str, python: str, folder: Path) -> BuiltPackage:
        made.append({"--python": python, "--architecture": architecture}[name])
        return BuiltPackage(folder / "functions.zip", 1, 1, ())

    monkeypatch.setattr("tablewright.deploy.package.building.build_zip", built)
    for value in parameter["AllowedValues"]:
        assert main(["package", "tasks", name, value, "--out", str(tmp_path)]) == 0
    assert main(["package", "tasks", "--out", str(tmp_path)]) == 0
    assert made == [*parameter["AllowedValues"], parameter["Default"]]
    capsys.readouterr()
    assert main(["package", "tasks", "--python", "3.10", "--out", str(tmp_path)]) == 2
    assert (
        f"on {', '.join(stack('tasks').template['Parameters']['Python']['AllowedValues'])}" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_module"], "there is no module 'no_such_module'"),
        (["task"], "there is no system or module 'task'; did you mean tasks?"),
        (["calls", "--environment", "a b"], "is not an environment"),
        (["calls", "--region", "nowhere"], "is not an AWS region"),
        (["tablewright.systems.calls.model", "--container"], "remove --container"),
        (["tablewright.systems.calls.model", "--setting", "log_level=DEBUG"], "remove --setting"),
        (["calls", "--setting", "log_level"], "give a name and a value"),
        (["calls", "--setting", "cors_origin=*"], "did you mean TABLEWRIGHT_CORS_ORIGINS?"),
        (["calls", "--setting", "caller_country=Italy"], "the setting caller_country: String should match"),
        (["calls", "--setting", "roles=admins"], "is not valid JSON"),
        (["calls", "--setting", "memory=true"], "follows from the stack"),
        (["calls", "--setting", "smtp_url=smtp://u:p@mail.example.org"], "mail through Amazon SES"),
        (["servicedesk", "--setting", "smtp_url=smtp://u:p@mail.example.org"], "smtp_url is secret"),
        (["engagement", "--setting", 'outbound_credentials={"a": {"host": "b.c", "value": "d"}}'], "is secret"),
    ],
)
def test_what_cannot_be_deployed_is_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deploy", *arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["deploy", "calls", "--out", str(tmp_path / "file")]) == 2
    assert "cannot be written to: it is a file" in capsys.readouterr().err


@pytest.mark.requirement("SH2")
@pytest.mark.parametrize(
    "command",
    [["up", "--port", "0", "--memory", "--system"], ["deploy", "--out", "made"], ["package", "--out", "made"]],
)
def test_import_errors_name_the_missing_module_or_the_failing_line(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "shop_that_lacks.py").write_text("import a_distribution_that_nobody_has\n")
    (tmp_path / "shop_that_breaks.py").write_text("system = System()\n")
    assert main([*command, "shop_that_lacks"]) == 2
    assert "needs the module 'a_distribution_that_nobody_has', which is not installed" in capsys.readouterr().err
    assert main([*command, "shop_that_breaks"]) == 2
    assert "cannot be imported: NameError: name 'System' is not defined (shop_that_breaks.py:1)" in (
        capsys.readouterr().err
    )


def test_a_package_says_what_is_being_built_while_pip_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(place: str, architecture: str, python: str, folder: Path) -> BuiltPackage:
        assert f"building the zip for {architecture}, with wheels that pip downloads" in capsys.readouterr().err
        return BuiltPackage(folder / "functions.zip", 2**20, 2**21, ("one==1",))

    monkeypatch.setattr("tablewright.deploy.package.building.build_zip", built)
    assert main(["package", "tasks", "--architecture", "x86_64", "--out", str(tmp_path)]) == 0
    assert "functions.zip: 1.0 MB, 2.0 MB unpacked" in capsys.readouterr().out
