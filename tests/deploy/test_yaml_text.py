"""Templates as YAML: read back, they are what was written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.deploy.yaml_text import to_yaml
from tests.deploy.stacks import read_yaml

pytestmark = pytest.mark.requirement("SH1")

# What YAML's readers take: no control characters, surrogates or other line ends.
texts = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=30)
words = st.sampled_from(
    ["yes", "No", "on", "null", "~", "1", "1.5", "- a", "a: b", "#", "'", '"', "!Ref x", " ", "", "*"]
)
scalars = texts | words | st.integers(-(10**9), 10**9) | st.booleans()
contents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts.filter(lambda key: key != ""), inner, max_size=3),
    max_leaves=12,
)


@given(contents)
def test_what_is_read_is_what_was_written(content: Any) -> None:
    template = {"Resources": {"One": {"Properties": content}}}
    assert read_yaml(to_yaml(template, {})) == template


def test_functions_have_their_short_forms_and_resources_their_comments() -> None:
    properties = {
        "Role": {"Fn::GetAtt": ["ApiRole", "Arn"]},
        "Name": {"Fn::If": ["IsOwn", {"Ref": "A"}, {"Fn::Sub": "${B}-c"}]},
        "Days": [1, 3],
        "Text": "two\nlines",
    }
    template = {"Resources": {"Api": {"Type": "AWS::Lambda::Function", "Properties": properties}}}
    assert to_yaml(template, {"Api": "Answers."}, "A stack.") == (
        "# A stack.\n"
        "\n"
        "Resources:\n"
        "  # Answers.\n"
        "  Api:\n"
        "    Type: AWS::Lambda::Function\n"
        "    Properties:\n"
        "      Role: !GetAtt ApiRole.Arn\n"
        "      Name: !If\n"
        "        - IsOwn\n"
        "        - !Ref A\n"
        "        - !Sub ${B}-c\n"
        "      Days: [1, 3]\n"
        "      Text: |-\n"
        "        two\n"
        "        lines\n"
    )
    assert read_yaml(to_yaml(template, {})) == template
