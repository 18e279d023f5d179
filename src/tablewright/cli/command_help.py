"""The content of ``tablewright --help``: commands in groups, and examples of each command.

A test parses every example, and fails for a command that is in no group or has no example.
"""

from __future__ import annotations

__all__ = ["EXAMPLES", "GROUPS"]

GROUPS: dict[str, tuple[str, ...]] = {
    "Design a model": ("init", "lint", "docs", "plan", "meter", "diff", "migrate", "workbench"),
    "Ship it": ("infra", "iam", "deploy", "package", "check"),
    "Run the systems": ("up", "token", "config", "support", "engagement", "calls", "search", "privacy"),
    "Run the database": (
        "serve",
        "studio",
        "sql",
        "verify",
        "scrub",
        "backup",
        "backups",
        "restore",
        "copy",
        "relocate",
    ),
}

# By command: what to type behind ``tablewright``.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "init": ("init shop",),
    "lint": ("lint shop", "lint ./shop.py --json"),
    "docs": ("docs shop", "docs shop --html --out docs"),
    "plan": ("plan shop", "plan shop --html plan.html", "plan shop --metered run.jsonl --period 10s"),
    "meter": ("meter -- python program.py", "meter --save run.jsonl -- python program.py"),
    "diff": ("diff --snapshot shop", "diff design.json shop"),
    "migrate": (
        "migrate shop --dry-run",
        "migrate shop --data ./data",
        "migrate shop --endpoint http://127.0.0.1:8000 --region us-east-1",
    ),
    "workbench export": ("workbench export shop",),
    "workbench import": ("workbench import model.json",),
    "infra": ("infra shop --format terraform", "infra shop --format cloudformation --environment staging"),
    "iam": ("iam shop", "iam shop --json --role api"),
    "deploy": ("deploy tasks --out stack", "deploy shop --environment dev --region eu-west-1 --out stack"),
    "package": (
        "package tasks --out build",
        "package tasks --architecture x86_64 --out build",
        "package tasks --image --out build",
    ),
    "check": ("check --endpoint http://127.0.0.1:8000", "check --endpoint aws:eu-west-1 shop"),
    "up": ("up --demo", "up --memory --port 0 --system calls", "up --endpoint http://127.0.0.1:8000"),
    "token": ("token --user ada --role tasks:Admins", "token --user mia --role calls:Customers --hours 1"),
    "config": ("config", "config --json"),
    "support rebuild-metrics": ("support rebuild-metrics --url http://127.0.0.1:8080",),
    "support verify-metrics": ("support verify-metrics --data ./data",),
    "support migrate-shards": ("support migrate-shards --data ./data",),
    "support collect-orphans": ("support collect-orphans --dry-run",),
    "support verify": ("support verify --data ./data",),
    "support export": ("support export --out training", "support export --out training --format parquet --full"),
    "engagement run": ("engagement run espresso --marketplace ALPS",),
    "engagement demo-data": ("engagement demo-data --out customers.csv",),
    "search rebuild": ("search rebuild", "search rebuild tasks --data ./data"),
    "privacy export": ("privacy export ada --data ./data",),
    "privacy erase": ("privacy erase ada --data ./data",),
    "calls verify": ("calls verify", "calls verify --repair"),
    "serve": ("serve", "serve --data ./data --port 8000"),
    "studio": (
        "studio ./data --design shop",
        "studio http://127.0.0.1:8000 --write",
        "studio aws:eu-west-1 --design shop.model",
    ),
    "sql": (
        'sql ./data "FROM Orders LIMIT 20"',
        'sql ./data "SELECT status, count(*) FROM Ticket GROUP BY status" --design shop',
    ),
    "verify": ("verify ./data",),
    "scrub": ("scrub ./data --rate 5MB --copies /mnt/backup/shop",),
    "backup": ("backup Orders --data ./shop --name Monday", "backup --data ./shop --to /mnt/backup/shop --keep 14"),
    "backups": ("backups --data ./shop", "backups --from /mnt/backup/shop"),
    "restore": (
        "restore Orders --at 2026-11-15T18:30:00Z --to OrdersBefore --data ./shop",
        "restore --from /mnt/backup/shop --data ./shop-again",
    ),
    "copy": (
        "copy ./data aws:eu-west-1",
        "copy http://127.0.0.1:8000 ./copy --table Orders --rename Orders=OldOrders",
        "copy ./data export/{table}.json.gz",
        "copy aws:eu-west-1 ./data --table Orders --read-rate 500 --where \"status = 'open'\"",
    ),
    "relocate start": ("relocate start http://127.0.0.1:8000 aws:eu-west-1 --table Orders",),
    "relocate status": ("relocate status http://127.0.0.1:8000 aws:eu-west-1 --json",),
    "relocate cut": ("relocate cut http://127.0.0.1:8000 aws:eu-west-1",),
    "relocate back": ("relocate back http://127.0.0.1:8000 aws:eu-west-1",),
    "relocate finish": ("relocate finish http://127.0.0.1:8000 aws:eu-west-1",),
}
