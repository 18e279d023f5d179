"""Engagement: whom to reach, about what, and how (Customer Engagement & Action Platform, CEAP).

Candidates
    CUSTOMER#<c>#PROGRAM#<p>#MARKETPLACE#<m>   SUBJECT#<type>#<id>                     Candidate
                                               CHANNEL#<channel>#SUBJECT#<type>#<id>   ChannelEntry, for each channel
                                               DELIVERY#<channel>#SUBJECT#...          Delivery, what was sent
    CUSTOMER#<c>                               PREFERENCES, CONTACTS                   Preferences, Contacts
                                               PREFERENCES#<number>                    PreferenceChange, who and what
    QUOTA#PROGRAM#<p>#MARKETPLACE#<m>          CHANNEL#<channel>#<day>                 Quota, sent in a day
    RUN#<id>#PROGRAM#<p>#MARKETPLACE#<m>       FAILED#<connector>#<digest>             FailedCustomer, to retry

    ProgramChannelIndex       candidates of a program and channel, best score first, of all marketplaces
    MarketplaceChannelIndex   the same of one marketplace
    ProgramDateIndex          candidates of a program by the day they were created; its deliveries by day

ProgramConfig
    PROGRAM#<p>                   MARKETPLACE#<m>     Program
    PROGRAM#<p>#MARKETPLACE#<m>   VERSION#<number>    ProgramVersion, its configuration in each version
                                  RUN#<id>            Run, of a batch
                                  SLOT                Slot, the owner of its only run
                                  SCHEDULE#<kind>     Schedule, when the next is due

    MarketplaceIndex      programs of a marketplace
    DueIndex              schedules that are due, and runs whose process is gone
    ApprovalIndex         programs of all marketplaces by their approval

ScoreCache
    CUSTOMER#<c>#SUBJECT#<id>   MODEL#<model>    Score, for 24 to 48 hours

An index entry serves one channel, so a candidate has an entry for each. It is written, moved and removed in the same
transaction as the candidate. Scores in keys have a form that sorts like numbers.
"""

from __future__ import annotations

from tablewright.model import AcceptedFinding, Design, ItemWrite, Reaction, RequiredRead, Traffic, Volume, Write
from tablewright.runtime.audit import AUDITED, READ_AUDIT
from tablewright.runtime.idempotency import KEEP_RESPONSE
from tablewright.runtime.identity.deny_list import CHECK_CALLER
from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.mail.mail_records import CLAIM_MAIL, RECORD_MAIL
from tablewright.systems.engagement.entities.candidate_entities import (
    MAX_REJECTIONS,
    Candidate,
    ChannelEntry,
    Metadata,
    ModelScore,
    Rejection,
    Score,
    Subject,
)
from tablewright.systems.engagement.entities.delivery_entities import (
    CONTACT_DAYS,
    MAX_CONTACTS,
    MAX_PROGRAMS_OFF,
    Contacts,
    Delivery,
    DeliveryState,
    PreferenceChange,
    Preferences,
    QuietHours,
    Quota,
)
from tablewright.systems.engagement.entities.engagement_tables import (
    MAX_CHANNELS,
    candidates,
    programs,
    scores,
)
from tablewright.systems.engagement.entities.program_entities import (
    MAX_EDITORS,
    Approval,
    ApprovalState,
    Program,
    ProgramVersion,
    Step,
    not_approved,
)
from tablewright.systems.engagement.entities.run_entities import (
    MAX_SAMPLES,
    Checkpoint,
    Counts,
    FailedCustomer,
    Run,
    RunState,
    Sample,
    Schedule,
    ScheduleKind,
    Slot,
)

__all__ = [
    "CONTACT_DAYS",
    "MAX_CHANNELS",
    "MAX_CONTACTS",
    "MAX_EDITORS",
    "MAX_PROGRAMS_OFF",
    "MAX_REJECTIONS",
    "MAX_SAMPLES",
    "Approval",
    "ApprovalState",
    "Candidate",
    "ChannelEntry",
    "Checkpoint",
    "Contacts",
    "Counts",
    "Delivery",
    "DeliveryState",
    "FailedCustomer",
    "Metadata",
    "ModelScore",
    "PreferenceChange",
    "Preferences",
    "Program",
    "ProgramVersion",
    "QuietHours",
    "Quota",
    "Rejection",
    "Run",
    "RunState",
    "Sample",
    "Schedule",
    "ScheduleKind",
    "Score",
    "Slot",
    "Step",
    "Subject",
    "candidates",
    "design",
    "not_approved",
    "programs",
    "scores",
]

design = Design(
    "Engagement",
    about=__doc__,
    tables=[candidates, programs, scores],
    internal_tables=[internal_table],
    required_reads=[
        RequiredRead("programs of a marketplace", Program, by=[Program.marketplace_id]),
        RequiredRead(
            "best candidates of a program and channel",
            ChannelEntry,
            by=[ChannelEntry.program_id, ChannelEntry.channel_id],
        ),
        RequiredRead(
            "best candidates of a program and channel in a marketplace",
            ChannelEntry,
            by=[ChannelEntry.program_id, ChannelEntry.marketplace_id, ChannelEntry.channel_id],
        ),
    ],
    writes=[
        Write(
            "write candidates",
            ItemWrite(Slot, "update", sets=[Slot.lease_end, Slot.taken_over]),
            ItemWrite(Run, "update", sets=[Run.checkpoint, Run.counts, Run.errors, Run.samples, Run.updated]),
            ItemWrite(Candidate, "put", count=20),
            ItemWrite(ChannelEntry, "put", count=75),
            ItemWrite(FailedCustomer, "put", conditional=False),
        ),
        Write(
            "retry customers",
            ItemWrite(Slot, "update", sets=[Slot.lease_end, Slot.taken_over]),
            ItemWrite(Run, "update", sets=[Run.counts, Run.errors, Run.samples, Run.updated]),
            ItemWrite(Candidate, "put", count=20),
            ItemWrite(ChannelEntry, "put", count=55),
            ItemWrite(FailedCustomer, "delete", count=20, conditional=False),
        ),
        Write("wait for model", ItemWrite(Run, "update", sets=[Run.waiting_for, Run.updated])),
        Write(
            "refresh candidate",
            ItemWrite(Candidate, "put"),
            ItemWrite(ChannelEntry, "put", count=MAX_CHANNELS),
        ),
        Write(
            "reject",
            ItemWrite(Candidate, "update", sets=[Candidate.rejected, Candidate.channels, Candidate.rejection_history]),
            ItemWrite(ChannelEntry, "delete", count=MAX_CHANNELS),
            AUDITED,
            reads=[Candidate.by_subject, Candidate.by_subject],
        ),
        Write(
            "delete candidate",
            ItemWrite(Candidate, "delete"),
            ItemWrite(ChannelEntry, "delete", count=MAX_CHANNELS),
            AUDITED,
            reads=[Candidate.by_subject],
        ),
        Write("cache scores", ItemWrite(Score, "put", count=25, conditional=False)),
        Write(
            "claim delivery",
            ItemWrite(Delivery, "create"),
            ItemWrite(Contacts, "put"),
            ItemWrite(Quota, "put"),
        ),
        Write("take over claim", ItemWrite(Delivery, "update", sets=[Delivery.claim, Delivery.claimed_until])),
        Write("release claim", ItemWrite(Delivery, "delete"), ItemWrite(Contacts, "put"), ItemWrite(Quota, "put")),
        Write(
            "retry delivery",
            ItemWrite(
                Delivery,
                "update",
                sets=[
                    Delivery.state,
                    Delivery.claim,
                    Delivery.claimed_until,
                    Delivery.at,
                    Delivery.day,
                    Delivery.retries,
                ],
            ),
            ItemWrite(Contacts, "put"),
            ItemWrite(Quota, "put"),
        ),
        Write("finish delivery", ItemWrite(Delivery, "update", sets=[Delivery.state, Delivery.reason])),
        Write(
            "change preferences",
            ItemWrite(Preferences, "put"),
            ItemWrite(PreferenceChange, "put"),
            reads=[Preferences.of_customer, Preferences.of_customer],
        ),
        Write(
            "put program",
            ItemWrite(Program, "put"),
            ItemWrite(ProgramVersion, "put"),
            ItemWrite(Schedule, "put", count=2),
            AUDITED,
            reads=[*(3 * [Program.by_id]), *(2 * [Schedule.of_program])],
        ),
        Write(
            "begin run",
            ItemWrite(Run, "create"),
            ItemWrite(Slot, "create"),
            ItemWrite(Schedule, "update", sets=[Schedule.due]),
            AUDITED,
        ),
        Write(
            "take over run",
            ItemWrite(Slot, "update", sets=[Slot.owner, Slot.lease_end, Slot.taken_over]),
            reads=[Run.by_id],
        ),
        Write(
            "resume run",
            ItemWrite(Run, "update", sets=[Run.state, Run.attempt, Run.requested, Run.failure, Run.finished]),
            ItemWrite(Slot, "create"),
            AUDITED,
            reads=[Program.by_id, Run.by_id],
        ),
        Write(
            "request run stop",
            ItemWrite(Run, "update", sets=[Run.requested]),
            AUDITED,
            reads=[Slot.of_program, Run.by_id],
        ),
        Write("order deliveries", AUDITED, about="before they are sent: each delivery has its own record"),
        Write("advance schedule", ItemWrite(Schedule, "update", sets=[Schedule.due])),
        Write("end run", ItemWrite(Run, "update", sets=[Run.state, Run.finished]), ItemWrite(Slot, "delete")),
        Write("delete failed customers", ItemWrite(FailedCustomer, "delete", count=25, conditional=False)),
        Write("delete run", ItemWrite(Run, "delete"), ItemWrite(Slot, "delete"), AUDITED),
        CLAIM_MAIL,
        RECORD_MAIL,
        KEEP_RESPONSE,
    ],
    reactions=[Reaction("find program", Program, effect="index", consumer="search")],
    roles={
        "api": [
            "Candidate.by_subject",
            "Candidate.of_day",
            "ChannelEntry.by_channel",
            "ChannelEntry.top",
            "ChannelEntry.top_of_marketplace",
            "ChannelEntry.of_customer",
            "Delivery.by_candidate",
            "Delivery.of_customer",
            "Delivery.of_day",
            "Preferences.of_customer",
            "PreferenceChange.of_customer",
            "Contacts.of_customer",
            "Quota.of_day",
            "Program.by_id",
            "Program.of_marketplace",
            "Program.in_state",
            "ProgramVersion.by_number",
            "ProgramVersion.of_program",
            "Run.by_id",
            "Run.of_program",
            "FailedCustomer.of_run",
            "Slot.of_program",
            "Slot.held_until",
            "Schedule.of_program",
            "Schedule.due_until",
            "Score.by_model",
            "Score.of_subject",
            "write candidates",
            "retry customers",
            "wait for model",
            "delete failed customers",
            "refresh candidate",
            "reject",
            "delete candidate",
            "cache scores",
            "claim delivery",
            "take over claim",
            "release claim",
            "retry delivery",
            "finish delivery",
            "change preferences",
            "put program",
            "begin run",
            "take over run",
            "resume run",
            "request run stop",
            "order deliveries",
            "advance schedule",
            "end run",
            "delete run",
        ],
        # Callers who are deactivated, mail of deliveries, and requests with an idempotency key.
        "runtime": [
            CHECK_CALLER,
            READ_AUDIT,
            "MailRecord.by_recipient",
            "claim mail",
            "record mail",
            "keep response",
        ],
    },
    volume={
        Candidate: Volume(items=1_000_000, size=900),
        ChannelEntry: Volume(items=2_000_000, size=350),
        Delivery: Volume(items=200_000, size=450),
        Preferences: Volume(items=100_000, size=200),
        PreferenceChange: Volume(items=200_000, size=250),
        Contacts: Volume(items=200_000, size=250),
        Quota: Volume(items=100, size=150),
        Program: Volume(items=100, size=1_500),
        ProgramVersion: Volume(items=1_000, size=1_500),
        Run: Volume(items=10_000, size=900),
        FailedCustomer: Volume(items=10_000, size=350),
        Slot: Volume(items=10, size=200),
        Schedule: Volume(items=100, size=200),
        Score: Volume(items=2_000_000, size=200),
    },
    traffic={
        "write candidates": Traffic(per_second=5, peak=20),
        "ChannelEntry.top": Traffic(per_second=5, peak=20),
        "Candidate.by_subject": Traffic(per_second=20, peak=100),
        "Score.by_model": Traffic(per_second=100, peak=500),
        "Schedule.due_until": Traffic(per_second=1, peak=2),
        "Slot.held_until": Traffic(per_second=1, peak=2),
        "put program": Traffic(per_second=0.01, peak=1),
        "begin run": Traffic(per_second=0.01, peak=1),
        "end run": Traffic(per_second=0.01, peak=1),
        "take over run": Traffic(per_second=0.1, peak=1),
        "advance schedule": Traffic(per_second=0.01, peak=1),
    },
    accepted=[
        AcceptedFinding(
            "counted-by-hand",
            "ProgramVersion.number",
            "it is the program's version, which the same transaction increments and checks",
        ),
        AcceptedFinding(
            "counted-by-hand",
            "PreferenceChange.number",
            "it is the version of the preferences, which the same transaction increments and checks",
        ),
    ],
)
