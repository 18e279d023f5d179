"""The HTTP API: all requests go to one function, those below /runtime to another that may do more."""

from __future__ import annotations

from tablewright.deploy.resources.function_resources import add_log_group
from tablewright.deploy.stack_template import Stack, att, ref, sub

__all__ = ["API", "add_api", "public_url"]

API = "HttpApi"
# What API Gateway waits for at most.
_TIMEOUT_MS = 30_000
_LOG = (
    '{"requestId":"$context.requestId","status":"$context.status","route":"$context.routeKey",'
    '"milliseconds":"$context.responseLatency","error":"$context.integrationErrorMessage"}'
)


def public_url() -> dict[str, str]:
    return sub(f"https://${{{API}}}.execute-api.${{AWS::Region}}.${{AWS::URLSuffix}}")


def add_api(stack: Stack, function: str, admin: str) -> None:
    stack.parameter("RequestsPerSecond", "Requests per second that the API accepts", 200)
    stack.parameter("RequestBurst", "Requests that the API accepts in a burst", 400)
    stack.add(
        API,
        "AWS::ApiGatewayV2::Api",
        {"Name": ref("AWS::StackName"), "ProtocolType": "HTTP", "DisableExecuteApiEndpoint": False},
        "The API. Tokens are verified by the functions, as everywhere else.",
    )
    add_log_group(stack, "ApiAccessLogs", "/aws/apigateway/${AWS::StackName}")
    stack.add(
        "ApiStage",
        "AWS::ApiGatewayV2::Stage",
        {
            "ApiId": ref(API),
            "StageName": "$default",
            "AutoDeploy": True,
            "AccessLogSettings": {"DestinationArn": att("ApiAccessLogs"), "Format": _LOG},
            "DefaultRouteSettings": {
                "DetailedMetricsEnabled": True,
                "ThrottlingBurstLimit": ref("RequestBurst"),
                "ThrottlingRateLimit": ref("RequestsPerSecond"),
            },
        },
    )
    _route(stack, "Api", function, "$default")
    _route(stack, "Admin", admin, "ANY /runtime/{proxy+}")
    stack.output("ApiUrl", "Address of the API", public_url())


def _route(stack: Stack, name: str, function: str, key: str) -> None:
    stack.add(
        f"{name}Integration",
        "AWS::ApiGatewayV2::Integration",
        {
            "ApiId": ref(API),
            "IntegrationType": "AWS_PROXY",
            "IntegrationUri": att(function),
            "PayloadFormatVersion": "2.0",
            "TimeoutInMillis": _TIMEOUT_MS,
        },
    )
    stack.add(
        f"{name}Route",
        "AWS::ApiGatewayV2::Route",
        {"ApiId": ref(API), "RouteKey": key, "Target": sub(f"integrations/${{{name}Integration}}")},
    )
    stack.add(
        f"{name}Permission",
        "AWS::Lambda::Permission",
        {
            "Action": "lambda:InvokeFunction",
            "FunctionName": ref(function),
            "Principal": "apigateway.amazonaws.com",
            "SourceAccount": ref("AWS::AccountId"),
            "SourceArn": sub(f"arn:${{AWS::Partition}}:execute-api:${{AWS::Region}}:${{AWS::AccountId}}:${{{API}}}/*"),
        },
    )
