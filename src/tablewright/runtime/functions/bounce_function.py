"""The function that records what SES reports about mail: bounces, complaints and rejections, through SNS.

A message has its record's name in a tag (``SesTransport``). A permanent bounce is recorded like a refusal by a mail
server; after a temporary one (a full mailbox), SES itself retries.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from tablewright.runtime.start_up import starting

with starting():
    from tablewright.runtime.functions.function_process import process
    from tablewright.runtime.mail.mail_transport import RECORD_TAG

_log = logging.getLogger(__name__)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Record bounced mail."""
    mailer = process().runtime.mailer
    for record in event["Records"]:
        notice = json.loads(record["Sns"]["Message"])
        reason = _reason(notice)
        names = notice.get("mail", {}).get("tags", {}).get(RECORD_TAG, [])
        if reason is None or not names:
            continue
        event_id, _, recipient = str(names[0]).rpartition(".")
        if not mailer.bounced(event_id, recipient, reason):
            _log.warning("bounced mail is unknown here", extra={"event_id": event_id})
    return {}


def _reason(notice: dict[str, Any]) -> str | None:
    """Why a message did not arrive, in few words and without an address; None if it may arrive still."""
    kind = str(notice.get("eventType") or notice.get("notificationType") or "")
    if kind == "Bounce":
        bounce = notice.get("bounce", {})
        if bounce.get("bounceType") != "Permanent":
            return None
        return f"bounced: {bounce.get('bounceSubType', 'General')}"
    if kind == "Complaint":
        return f"complaint: {notice.get('complaint', {}).get('complaintFeedbackType') or 'abuse'}"
    return "rejected by SES" if kind == "Reject" else None


with starting():
    process()
