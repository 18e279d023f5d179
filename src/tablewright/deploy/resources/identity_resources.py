"""Who may sign in: a pool of users with a group for each role of the system, and a page to sign in by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablewright.deploy.stack_template import Stack, logical, ref, sub
from tablewright.runtime.identity.access import RUNTIME_ADMINS, Role

__all__ = ["add_identity", "sign_in_callback"]

_MIN_PASSWORD = 12
# Those of the sign-in page are "code", below. With a password, only who may call AdminInitiateAuth gets a token.
_FLOWS = ["ALLOW_ADMIN_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH", "ALLOW_USER_SRP_AUTH"]


def sign_in_callback(stack: Stack, api: Any) -> Any:
    """Where the sign-in page of functions returns to: a program of the deployer, which gets a token for the code."""
    program = stack.parameter(
        "SignInCallback",
        "Address of your program that the sign-in page returns to with a code; if empty, the API, which ignores it",
        "",
        AllowedPattern=r"^(https://\S+|http://localhost(:\d+)?(/\S*)?)?$",
    )
    stack.conditions["HasSignInCallback"] = {"Fn::Not": [{"Fn::Equals": [program, ""]}]}
    return {"Fn::If": ["HasSignInCallback", program, api]}


def add_identity(stack: Stack, roles: Sequence[Role], callback: Any, signed_out: Any) -> None:
    stack.parameter(
        "SignInDomain",
        "First part of the address of the sign-in page; it has to be unique in the region",
        AllowedPattern="^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    )
    stack.add(
        "UserPool",
        "AWS::Cognito::UserPool",
        {
            "UserPoolName": ref("AWS::StackName"),
            "AccountRecoverySetting": {"RecoveryMechanisms": [{"Name": "verified_email", "Priority": 1}]},
            "AdminCreateUserConfig": {"AllowAdminCreateUserOnly": True},
            "AutoVerifiedAttributes": ["email"],
            "DeletionProtection": "ACTIVE",
            "EnabledMfas": ["SOFTWARE_TOKEN_MFA"],
            "MfaConfiguration": "OPTIONAL",
            "Policies": {"PasswordPolicy": {"MinimumLength": _MIN_PASSWORD, "TemporaryPasswordValidityDays": 7}},
            "UsernameAttributes": ["email"],
        },
        "The people who may sign in. Only administrators add them.",
        retain=True,
    )
    stack.add(
        "UserPoolDomain",
        "AWS::Cognito::UserPoolDomain",
        {"Domain": ref("SignInDomain"), "UserPoolId": ref("UserPool"), "ManagedLoginVersion": 1},
    )
    stack.add(
        "UserPoolClient",
        "AWS::Cognito::UserPoolClient",
        {
            "UserPoolId": ref("UserPool"),
            "AllowedOAuthFlows": ["code"],
            "AllowedOAuthFlowsUserPoolClient": True,
            "AllowedOAuthScopes": ["openid", "email", "profile"],
            "CallbackURLs": [callback],
            "LogoutURLs": [signed_out],
            "EnableTokenRevocation": True,
            "ExplicitAuthFlows": _FLOWS,
            "PreventUserExistenceErrors": "ENABLED",
            "SupportedIdentityProviders": ["COGNITO"],
        },
    )
    for role in (*roles, RUNTIME_ADMINS):
        stack.add(
            f"{logical(role.name)}Group",
            "AWS::Cognito::UserPoolGroup",
            {"GroupName": role.name, "Description": f"Users with the role {role.name}", "UserPoolId": ref("UserPool")},
            owner=f"the group of the role {role.name}",
        )
    stack.output("UserPoolId", "Pool of the people who may sign in", ref("UserPool"))
    stack.output("UserPoolClientId", "Client that tokens are issued for", ref("UserPoolClient"))
    stack.output(
        "SignInPage",
        "Address of the sign-in page",
        sub("https://${SignInDomain}.auth.${AWS::Region}.amazoncognito.com"),
    )
