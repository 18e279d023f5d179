"""Mail: each letter about an event once, whatever the mail server and other processes do."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest

from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.mail import mail_transport
from tablewright.runtime.mail.event_mail import Message, digest, sender_from
from tablewright.runtime.mail.mail_addresses import is_address
from tablewright.runtime.mail.mail_transport import FolderTransport, SmtpTransport
from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime, SettingsError
from tablewright.store import Store, Unavailable
from tests.runtime.mail.mail_process import EVENT, MESSAGE, NOON, Office
from tests.runtime.mail_server import MailServer


@pytest.fixture
def server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture
def office(server: MailServer) -> Office:
    return Office(SmtpTransport(server.url))


@pytest.mark.requirement("TM8")
def test_a_message_arrives_as_it_was_written(office: Office, server: MailServer) -> None:
    text = "Grüße,\n\n.\n..two dots\n" + "x" * 2000 + "\n"
    office.mailer.send(EVENT, Message("grace@example.org", "Fertig: Prüfung №7", text))
    (mail,) = server.received
    assert (mail.sender, mail.recipient) == ("tasks@example.org", "grace@example.org")
    assert mail.message["From"] == "Tasks <tasks@example.org>"
    assert mail.message["To"] == "grace@example.org"
    assert mail.message["Subject"] == "Fertig: Prüfung №7"
    assert mail.message["Date"].datetime == NOON
    assert mail.message["Auto-Submitted"] == "auto-generated"
    assert mail.message_id == f"<e-1.{digest('grace@example.org')}@example.org>"
    assert mail.text.replace("\r\n", "\n") == text


@pytest.mark.requirement("TM8")
def test_a_message_is_sent_once_for_an_event_and_a_recipient(office: Office, server: MailServer) -> None:
    other = EVENT.model_copy(update={"event_id": "e-2"})
    for _ in range(3):
        office.mailer.send(EVENT, MESSAGE)
    office.mailer.send(EVENT, Message("GRACE@example.org", "It happened", "To the same, in other letters."))
    office.mailer.send(EVENT, Message("linus@example.org", "It happened", "To another."))
    office.mailer.send(other, MESSAGE)
    assert [mail.recipient for mail in server.received] == [
        "grace@example.org",
        "linus@example.org",
        "grace@example.org",
    ]
    assert len({mail.message_id for mail in server.received}) == 3
    assert office.counted == ["sent", "repeated", "repeated", "repeated", "sent", "sent"]


class Died(BaseException):
    """The end of a process."""


class Dying:
    """A carrier whose process dies when the server has accepted the message, and nothing is recorded yet."""

    def __init__(self, url: str) -> None:
        self._carrier = SmtpTransport(url)

    def send(self, message: Any) -> None:
        self._carrier.send(message)
        raise Died


@pytest.mark.requirement("TM8")
def test_another_process_waits_and_takes_over_only_when_the_claim_has_run_out(server: MailServer) -> None:
    first = Office(Dying(server.url))
    with pytest.raises(Died):
        first.mailer.send(EVENT, MESSAGE)
    second = Office(SmtpTransport(server.url), first.store)
    with pytest.raises(Unavailable):
        second.mailer.send(EVENT, MESSAGE)
    first.now = second.now = NOON + timedelta(seconds=61)
    second.mailer.send(EVENT, MESSAGE)
    assert [mail.recipient for mail in server.received] == ["grace@example.org"] * 2
    assert len({mail.message_id for mail in server.received}) == 1
    second.mailer.send(EVENT, MESSAGE)
    assert len(server.received) == 2


@pytest.mark.requirement("TM8")
def test_a_process_that_is_alone_does_not_wait_for_a_dead_one(server: MailServer) -> None:
    """What it is sending itself is not sent a second time meanwhile, by another of its threads."""
    first = Office(Dying(server.url), sole_sender_since=NOON)
    for outcome in (Died, Unavailable):
        with pytest.raises(outcome):
            first.mailer.send(EVENT, MESSAGE)
    later = NOON + timedelta(seconds=1)
    second = Office(SmtpTransport(server.url), first.store, sole_sender_since=later)
    first.now = second.now = later
    second.mailer.send(EVENT, MESSAGE)
    assert second.counted == ["sent"]
    assert len(server.received) == 2
    assert len({mail.message_id for mail in server.received}) == 1


@pytest.mark.requirement("TM8")
def test_two_processes_at_once_send_one_message(server: MailServer) -> None:
    store = Store.open(None)
    offices = [Office(SmtpTransport(server.url), store) for _ in range(8)]
    outcomes: list[str] = []

    def work(office: Office) -> None:
        try:
            office.mailer.send(EVENT, MESSAGE)
        except Unavailable:
            outcomes.append("waits")
        else:
            outcomes.extend(office.counted)

    threads = [threading.Thread(target=work, args=(office,)) for office in offices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert outcomes.count("sent") == 1
    assert len(outcomes) == 8
    assert len(server.received) == 1


@pytest.mark.requirement("TM8")
@pytest.mark.parametrize("at", [MESSAGE.recipient, "DATA"])
def test_a_refusal_for_good_is_recorded_and_not_tried_again(office: Office, server: MailServer, at: str) -> None:
    server.answers[at] = "550 5.1.1 No such user"
    office.mailer.send(EVENT, MESSAGE)
    assert (office.delivery().state, office.delivery().reason) == ("refused", "550 5.1.1 No such user")
    server.answers.clear()
    office.mailer.send(EVENT, MESSAGE)
    office.mailer.send(EVENT, Message("linus@example.org", "It happened", "Others go on."))
    assert [mail.recipient for mail in server.received] == ["linus@example.org"]
    assert office.counted == ["refused", "repeated", "sent"]


@pytest.mark.requirement("TM8")
@pytest.mark.parametrize(
    ("at", "answer"),
    [
        (MESSAGE.recipient, "450 4.2.1 Mailbox busy"),
        (MESSAGE.recipient, "530 5.7.0 Authentication required"),
        (MESSAGE.recipient, "421 4.3.2 Closing"),
        ("MAIL", "451 4.3.0 Try again"),
        ("MAIL", "550 5.7.1 Sender not allowed"),
        ("DATA", "452 4.3.1 Out of room"),
    ],
)
def test_what_may_pass_is_waited_for_and_nothing_is_lost(
    office: Office, server: MailServer, at: str, answer: str
) -> None:
    server.answers[at] = answer
    for _ in range(2):
        with pytest.raises(Unavailable):
            office.mailer.send(EVENT, MESSAGE)
    server.answers.clear()
    office.mailer.send(EVENT, MESSAGE)
    assert [mail.recipient for mail in server.received] == ["grace@example.org"]
    assert office.counted == ["sent"]


@pytest.mark.requirement("TM8")
def test_a_server_that_is_down_is_waited_for(office: Office, server: MailServer) -> None:
    server.stop()
    with pytest.raises(Unavailable, match="the mail server cannot be used"):
        office.mailer.send(EVENT, MESSAGE)
    server.start()
    office.mailer.send(EVENT, MESSAGE)
    assert len(server.received) == 1


@pytest.mark.requirement("TM8")
@pytest.mark.parametrize(
    "recipient",
    [
        "grace@example.org, eve@example.org",
        "grace@example.org\r\nBcc: eve@example.org",
        "Grace <grace@example.org>",
        '"grace\\@x"@example.org',
        "grace@example.org\n",
        "grace",
        "",
        "grace@exa mple.org",
        "grace@" + "x" * 300,
    ],
)
def test_what_is_no_address_gets_nothing(office: Office, server: MailServer, recipient: str) -> None:
    assert not is_address(recipient)
    office.mailer.send(EVENT, Message(recipient, "It happened", "Text."))
    assert server.received == []
    assert (office.delivery(recipient).state, office.delivery(recipient).reason) == ("refused", "no address")


@pytest.mark.requirement("TM8")
def test_nothing_in_a_subject_makes_a_header(office: Office, server: MailServer) -> None:
    subject = "Done\r\nBcc: eve@example.org\r\n\r\nA body\x00\x1b[2J\u2028" + "x" * 500
    office.mailer.send(EVENT, Message("grace@example.org", subject, "Text.\r\n"))
    (mail,) = server.received
    assert mail.recipient == "grace@example.org"
    assert mail.message["Bcc"] is None
    assert mail.message["Subject"].startswith("Done Bcc: eve@example.org A body [2J x")
    assert len(mail.message["Subject"]) == 200
    assert mail.text.strip() == "Text."


@pytest.mark.parametrize("text", ["", "nobody", "a@b\r\nBcc: c@d", "Tasks <>", "a@b, c@d"])
def test_a_sender_that_is_no_address_is_refused_at_once(text: str) -> None:
    with pytest.raises(ValueError, match="give the sender of mail as an address"):
        sender_from(text)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"mail_from": "nobody"}, "TABLEWRIGHT_MAIL_FROM: give the sender of mail as an address"),
        ({"smtp_url": "localhost:25"}, "TABLEWRIGHT_SMTP_URL: give the mail server as"),
        ({"ses": True}, "set AWS_DEFAULT_REGION"),
        ({"event_bus": "bus"}, "set AWS_DEFAULT_REGION"),
        ({"ses": True, "aws_endpoint": "localhost:4566"}, "give the endpoint of AWS services as"),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    setting: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(SettingsError, match=told):
        Runtime.open(Settings(**{"memory": True, **setting}), [])


@contextmanager
def talking(script: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says what a script says."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                script(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"smtp://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(20)
        assert not thread.is_alive()


@pytest.mark.requirement("TM8")
def test_a_server_that_says_nothing_does_not_hold_mail_up_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_transport, "SENT_WITHIN", 0.3)
    with talking(lambda connection: _drain(connection)) as url, pytest.raises(Unavailable):
        Office(SmtpTransport(url)).mailer.send(EVENT, MESSAGE)


@pytest.mark.requirement("TM8")
def test_a_server_that_answers_ever_more_slowly_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer comes in time, and all of them together do not."""
    monkeypatch.setattr(mail_transport, "SENT_WITHIN", 0.5)

    def slowly(connection: socket.socket) -> None:
        pause = threading.Event()
        try:
            for _ in range(100):
                pause.wait(0.2)
                connection.sendall(b"250 yes\r\n" if _ else b"220 hello\r\n")
        except OSError:
            return

    with talking(slowly) as url, pytest.raises(Unavailable):
        Office(SmtpTransport(url)).mailer.send(EVENT, MESSAGE)


@pytest.mark.requirement("TM8")
def test_what_was_accepted_is_sent_even_if_the_server_does_not_say_goodbye(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_transport, "_QUIT_WITHIN", 0.3)

    def accept(connection: socket.socket) -> None:
        connection.sendall(b"220 hello\r\n")
        with connection.makefile("rb") as lines:
            for line in lines:
                word = line.split()[0].upper()
                if word == b"QUIT":
                    _drain(connection)
                    return
                connection.sendall(b"354 go on\r\n" if word == b"DATA" else b"250 yes\r\n")
                if word == b"DATA":
                    while lines.readline() != b".\r\n":
                        pass
                    connection.sendall(b"250 accepted\r\n")

    with talking(accept) as url:
        office = Office(SmtpTransport(url))
        office.mailer.send(EVENT, MESSAGE)
    assert office.counted == ["sent"]


def _drain(connection: socket.socket) -> None:
    while connection.recv(1024):
        pass


@pytest.mark.requirement("TM8")
def test_a_login_goes_over_tls(certified: ssl.SSLContext) -> None:
    with MailServer(tls=certified, login=(b"tasks", b"p@ss/word")) as server:
        good = Office(SmtpTransport(f"smtp://tasks:p%40ss%2Fword@localhost:{server.port}"))
        good.mailer.send(EVENT, MESSAGE)
        assert good.counted == ["sent"]
        # A wrong password is for somebody to put right: mail waits, and nothing is refused.
        wrong = Office(SmtpTransport(f"smtp://tasks:wrong@localhost:{server.port}"))
        with pytest.raises(Unavailable, match=r"\(535\)"):
            wrong.mailer.send(EVENT, MESSAGE)
        assert wrong.delivery().state == "sending"


@pytest.mark.requirement("TM8")
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_tls_is_used_where_the_server_has_it_and_its_certificate_is_verified(
    certified: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """STARTTLS is used wherever it is offered, also without a login."""
    with MailServer(tls=certified, implicit_tls=scheme == "smtps") as server:
        url = f"{scheme}://localhost:{server.port}"
        Office(SmtpTransport(url)).mailer.send(EVENT, MESSAGE)
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(Unavailable, match=r"its certificate is not trusted: .*; see the setting smtp_verify"):
            Office(SmtpTransport(url)).mailer.send(EVENT, MESSAGE)
        Office(SmtpTransport(url, verify=False)).mailer.send(EVENT, MESSAGE)
        assert [mail.encrypted for mail in server.received] == [True, True]
    with MailServer() as plain:
        Office(SmtpTransport(plain.url)).mailer.send(EVENT, MESSAGE)
        assert [mail.encrypted for mail in plain.received] == [False]


def test_whether_certificates_are_verified_is_a_setting(
    certified: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with MailServer(tls=certified) as server:
        options: dict[str, Any] = {"memory": True, "smtp_url": f"smtp://localhost:{server.port}"}
        options |= {"issuer": "https://issuer.example.org", "audience": "tests"}
        for verify in (True, False):
            runtime = Runtime.open(Settings(smtp_verify=verify, **options), [])
            try:
                runtime.sync_store.ensure_tables(internal_table)
                with pytest.raises(Unavailable) if verify else nullcontext():
                    runtime.mailer.send(EVENT, MESSAGE)
            finally:
                runtime.close()
        assert len(server.received) == 1


@pytest.mark.requirement("TM8")
def test_no_password_is_sent_to_a_server_without_tls_or_with_anybodys_certificate(
    certified: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MailServer() as plain, pytest.raises(Unavailable):
        Office(SmtpTransport(f"smtp://tasks:secret@localhost:{plain.port}")).mailer.send(EVENT, MESSAGE)
    monkeypatch.delenv("SSL_CERT_FILE")
    with MailServer(tls=certified, login=(b"tasks", b"secret")) as server, pytest.raises(Unavailable):
        Office(SmtpTransport(f"smtp://tasks:secret@localhost:{server.port}")).mailer.send(EVENT, MESSAGE)


def test_without_a_server_mail_is_a_folder_of_files(tmp_path: Path) -> None:
    office = Office(FolderTransport(tmp_path / "mail"))
    office.mailer.send(EVENT, MESSAGE)
    office.mailer.send(EVENT, MESSAGE)
    (file,) = (tmp_path / "mail").iterdir()
    assert file.suffix == ".eml"
    assert message_from_bytes(file.read_bytes(), policy=default)["Subject"] == "It happened"


def test_a_folder_that_cannot_be_written_to_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "mail").write_text("in the way")
    office = Office(FolderTransport(tmp_path / "mail"))
    with pytest.raises(Unavailable):
        office.mailer.send(EVENT, MESSAGE)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:25",
        "http://localhost",
        "smtp://",
        "smtp://localhost:99999",
        "smtp://bob:Hunter2@[localhost",
        "smtp://bob:Hunter/2@localhost",
        "smtp://bob:Hunter#2@localhost",
        # A host that is called bob, and a path.
        "smtp://bob:12/Hunter@localhost",
    ],
)
def test_an_address_of_a_server_that_is_none_is_refused_and_nothing_of_it_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="give the mail server as") as refused:
        SmtpTransport(url)
    assert "Hunter" not in str(refused.value)
