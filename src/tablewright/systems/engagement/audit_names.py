"""Names of things of Engagement in the audit."""

from tablewright.systems.engagement.model import Subject


def program_thing(program_id: str, marketplace_id: str) -> str:
    """A program, and its runs."""
    return f"programs/{program_id}/marketplaces/{marketplace_id}"


def candidate_thing(customer_id: str, program_id: str, marketplace_id: str, subject: Subject) -> str:
    program = program_thing(program_id, marketplace_id)
    return f"{program}/customers/{customer_id}/candidates/{subject.type}/{subject.id}"
