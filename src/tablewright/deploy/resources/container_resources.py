"""A container that does all of it: API, screens of the applications, consumers and schedules, as ``tablewright up``.

    people ──▶ load balancer (TLS) ──▶ tasks on Fargate ──▶ tables, bucket, mail, bus

The image says what it starts, and as whom. Screens need web sockets and a process that remembers what it shows, so they
are not for functions. Several tasks share the work: consumers by leases, schedules by conditions, requests by the load
balancer, which keeps a browser with its task.
"""

from __future__ import annotations

from typing import Any

from tablewright.deploy.resources.data_resources import SECRET
from tablewright.deploy.resources.function_resources import add_log_group, statements
from tablewright.deploy.stack_template import NO_VALUE, Stack, allow, att, policy, ref, sub
from tablewright.deploy.system_needs import SystemNeeds
from tablewright.design.infra import TableTemplate

__all__ = ["LOGS", "add_container"]

LOGS = "ContainerLogs"
_PORT = 8080
_ARCHITECTURES = {"arm64": "ARM64", "x86_64": "X86_64"}
_STOP_SECONDS = 60
# The load balancer closes idle connections first: it would send a request on one that a container is just closing.
_IDLE_SECONDS = 300
_KEEP_ALIVE_SECONDS = _IDLE_SECONDS + 30
_COOKIE_SECONDS = 24 * 3600


def add_container(stack: Stack, tables: TableTemplate, needs: SystemNeeds, variables: dict[str, Any]) -> None:
    stack.parameter("Image", "Image that `tablewright package --image` built, by its digest in a registry")
    stack.parameter(
        "ImageArchitecture",
        "Processor that the image was built for, as in the name of its file",
        "x86_64",
        AllowedValues=[*_ARCHITECTURES],
    )
    stack.parameter("Vpc", "Network that the containers run in", Type="AWS::EC2::VPC::Id")
    stack.parameter("PublicSubnets", "Subnets of the load balancer", Type="List<AWS::EC2::Subnet::Id>")
    stack.parameter(
        "PrivateSubnets", "Subnets of the containers, with a route to AWS", Type="List<AWS::EC2::Subnet::Id>"
    )
    stack.parameter("Certificate", "ARN of the certificate of the public address", AllowedPattern="^arn:.+$")
    stack.parameter("Containers", "Number of containers", 2, MinValue=1)
    stack.conditions["IsArm"] = {"Fn::Equals": [ref("ImageArchitecture"), "arm64"]}
    _network(stack)
    _balancer(stack)
    _tasks(stack, tables, needs, variables)


def _network(stack: Stack) -> None:
    stack.add(
        "BalancerGroup",
        "AWS::EC2::SecurityGroup",
        {
            "GroupDescription": "Access to the load balancer",
            "VpcId": ref("Vpc"),
            "SecurityGroupIngress": [
                {
                    "Description": "Everybody, encrypted",
                    "IpProtocol": "tcp",
                    "FromPort": 443,
                    "ToPort": 443,
                    "CidrIp": "0.0.0.0/0",
                }
            ],
        },
    )
    stack.add(
        "ContainerGroup",
        "AWS::EC2::SecurityGroup",
        {
            "GroupDescription": "Access to the containers",
            "VpcId": ref("Vpc"),
            "SecurityGroupIngress": [
                {
                    "Description": "The load balancer",
                    "IpProtocol": "tcp",
                    "FromPort": _PORT,
                    "ToPort": _PORT,
                    "SourceSecurityGroupId": ref("BalancerGroup"),
                }
            ],
        },
    )


def _balancer(stack: Stack) -> None:
    stack.add(
        "Balancer",
        "AWS::ElasticLoadBalancingV2::LoadBalancer",
        {
            "Scheme": "internet-facing",
            "SecurityGroups": [ref("BalancerGroup")],
            "Subnets": ref("PublicSubnets"),
            "LoadBalancerAttributes": [
                {"Key": "routing.http.drop_invalid_header_fields.enabled", "Value": "true"},
                {"Key": "idle_timeout.timeout_seconds", "Value": str(_IDLE_SECONDS)},
            ],
        },
        "The entry point, for people and programs.",
    )
    stack.add(
        "BalancerTarget",
        "AWS::ElasticLoadBalancingV2::TargetGroup",
        {
            "VpcId": ref("Vpc"),
            "TargetType": "ip",
            "Protocol": "HTTP",
            "Port": _PORT,
            # Not /readyz, which fails with any consumer: other containers would fail as well, and requests would too.
            "HealthCheckPath": "/healthz",
            "HealthCheckIntervalSeconds": 15,
            "HealthCheckTimeoutSeconds": 5,
            "TargetGroupAttributes": [
                # A browser stays with the task that has drawn its page.
                {"Key": "stickiness.enabled", "Value": "true"},
                {"Key": "stickiness.type", "Value": "lb_cookie"},
                {"Key": "stickiness.lb_cookie.duration_seconds", "Value": str(_COOKIE_SECONDS)},
                {"Key": "deregistration_delay.timeout_seconds", "Value": "30"},
            ],
        },
    )
    stack.add(
        "BalancerListener",
        "AWS::ElasticLoadBalancingV2::Listener",
        {
            "LoadBalancerArn": ref("Balancer"),
            "Protocol": "HTTPS",
            "Port": 443,
            "SslPolicy": "ELBSecurityPolicy-TLS13-1-2-2021-06",
            "Certificates": [{"CertificateArn": ref("Certificate")}],
            "DefaultActions": [{"Type": "forward", "TargetGroupArn": ref("BalancerTarget")}],
        },
    )
    del stack.resources["BalancerListener"]["Properties"]["Tags"]
    stack.output(
        "BalancerAddress", "What the DNS record of the public address has to point to", att("Balancer", "DNSName")
    )


def _tasks(stack: Stack, tables: TableTemplate, needs: SystemNeeds, variables: dict[str, Any]) -> None:
    group = add_log_group(stack, LOGS, "/aws/ecs/${AWS::StackName}")
    own, reasons = statements(
        tables,
        needs.all_grants,
        mail=needs.sends_mail,
        blobs=needs.all_blobs,
        bus=needs.publishes_events,
    )
    trust = policy({"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ecs-tasks.amazonaws.com"}})
    stack.add(
        "ContainerRole",
        "AWS::IAM::Role",
        {"AssumeRolePolicyDocument": trust, "Policies": [{"PolicyName": "own", "PolicyDocument": policy(*own)}]},
        "What the containers may do: requests, consumers and maintenance together.",
        reasons=reasons,
    )
    repository = "arn:${AWS::Partition}:ecr:${AWS::Region}:${AWS::AccountId}:repository/*"
    stack.add(
        "ContainerStartRole",
        "AWS::IAM::Role",
        {
            "AssumeRolePolicyDocument": trust,
            "Policies": [
                {
                    "PolicyName": "own",
                    "PolicyDocument": policy(
                        allow("SignInToRegistry", ["ecr:GetAuthorizationToken"], "*"),
                        allow("PullImage", ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"], sub(repository)),
                        allow("ReadSecret", ["secretsmanager:GetSecretValue"], ref(SECRET)),
                        allow("WriteLogs", ["logs:CreateLogStream", "logs:PutLogEvents"], att(LOGS)),
                    ),
                }
            ],
        },
        "The execution role of the containers.",
        reasons={"SignInToRegistry": "IAM cannot limit GetAuthorizationToken to a repository"},
    )
    settings = {**variables, "TABLEWRIGHT_PORT": str(_PORT), "TABLEWRIGHT_KEEP_ALIVE": str(_KEEP_ALIVE_SECONDS)}
    stack.add(
        "ContainerTask",
        "AWS::ECS::TaskDefinition",
        {
            "Family": ref("AWS::StackName"),
            "Cpu": "1024",
            "Memory": "2048",
            "NetworkMode": "awsvpc",
            "RequiresCompatibilities": ["FARGATE"],
            "RuntimePlatform": {
                "CpuArchitecture": {"Fn::If": ["IsArm", "ARM64", "X86_64"]},
                "OperatingSystemFamily": "LINUX",
            },
            "ExecutionRoleArn": att("ContainerStartRole"),
            "TaskRoleArn": att("ContainerRole"),
            "ContainerDefinitions": [
                {
                    "Name": "systems",
                    "Image": ref("Image"),
                    "Essential": True,
                    "StopTimeout": _STOP_SECONDS,
                    "LinuxParameters": {"InitProcessEnabled": True},
                    "PortMappings": [{"ContainerPort": _PORT, "Protocol": "tcp"}],
                    "Environment": [_variable(name, value) for name, value in settings.items()],
                    "Secrets": [{"Name": "TABLEWRIGHT_MASTER_SECRET", "ValueFrom": ref(SECRET)}],
                    "LogConfiguration": {
                        "LogDriver": "awslogs",
                        "Options": {
                            "awslogs-group": group,
                            "awslogs-region": ref("AWS::Region"),
                            "awslogs-stream-prefix": needs.system.name,
                        },
                    },
                }
            ],
        },
        "One container: the system with its screens.",
    )
    stack.add("Cluster", "AWS::ECS::Cluster", {"ClusterSettings": [{"Name": "containerInsights", "Value": "enabled"}]})
    stack.add(
        "ContainerService",
        "AWS::ECS::Service",
        {
            "Cluster": ref("Cluster"),
            "TaskDefinition": ref("ContainerTask"),
            "DesiredCount": ref("Containers"),
            "LaunchType": "FARGATE",
            "DeploymentConfiguration": {
                "DeploymentCircuitBreaker": {"Enable": True, "Rollback": True},
                "MaximumPercent": 200,
                "MinimumHealthyPercent": 100,
            },
            "HealthCheckGracePeriodSeconds": 60,
            "LoadBalancers": [
                {"ContainerName": "systems", "ContainerPort": _PORT, "TargetGroupArn": ref("BalancerTarget")}
            ],
            "NetworkConfiguration": {
                "AwsvpcConfiguration": {
                    "AssignPublicIp": "DISABLED",
                    "SecurityGroups": [ref("ContainerGroup")],
                    "Subnets": ref("PrivateSubnets"),
                }
            },
            "PropagateTags": "SERVICE",
        },
        DependsOn=["BalancerListener"],
    )


def _variable(name: str, value: Any) -> dict[str, Any]:
    """A variable of a container; one that depends on a condition is left out as a whole."""
    if isinstance(value, dict) and "Fn::If" in value:
        condition, chosen, _ = value["Fn::If"]
        return {"Fn::If": [condition, {"Name": name, "Value": chosen}, NO_VALUE]}
    return {"Name": name, "Value": value}
