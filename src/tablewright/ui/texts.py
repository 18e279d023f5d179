"""The texts of the screens, in English and Italian: catalogues of texts, and times in everyday form.

    texts = Catalogue("tasks", {"new": ("New task", "Nuova attività"), ...})       systems/tasks/app/tasks_texts.py
    t("tasks.new")                                                                 in a view: ``t`` is ``page.t``

Each key needs a text in every language, otherwise creating the catalogue fails. ``{name}`` in a text is filled in by
``t(key, name=...)``; ``t.count(key, number)`` uses ``key.one`` or ``key.many``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from string import Formatter
from zoneinfo import ZoneInfo

__all__ = ["LANGUAGES", "LANGUAGE_NAMES", "Catalogue", "Texts", "language_of", "parsed_time", "zone_of"]

# By their codes, as they call themselves.
LANGUAGE_NAMES = {"en": "English", "it": "Italiano"}
LANGUAGES = tuple(LANGUAGE_NAMES)
"""The languages of the screens, in the order of the texts in a catalogue."""

_DAYS = (("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"), ("lun", "mar", "mer", "gio", "ven", "sab", "dom"))
_MONTHS = (
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    ("gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"),
)
_LONG_MONTHS = (
    (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
    (
        *("gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno"),
        *("luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"),
    ),
)


class Catalogue:
    """The texts of an application by key; keys start with its name."""

    def __init__(self, name: str, texts: Mapping[str, tuple[str, str]]) -> None:
        for key, each in texts.items():
            fields = [{field for _, field, _, _ in Formatter().parse(text) if field is not None} for text in each]
            if len(each) != len(LANGUAGES) or not all(each) or any(other != fields[0] for other in fields):
                raise ValueError(f"{name}.{key} needs a text with the same fields in each of {', '.join(LANGUAGES)}")
        self.name = name
        self.texts = {f"{name}.{key}": each for key, each in texts.items()}


class Texts:
    """The texts of some catalogues in one language, and times in one zone."""

    def __init__(self, texts: Mapping[str, tuple[str, str]], language: str, zone: ZoneInfo) -> None:
        self._texts = texts
        self._number = LANGUAGES.index(language)
        self.language = language
        self.zone = zone

    def __call__(self, key: str, **values: object) -> str:
        text = self._texts[key][self._number]
        return text.format(**values) if values else text

    def __contains__(self, key: object) -> bool:
        return key in self._texts

    def count(self, key: str, number: int, **values: object) -> str:
        """A text that depends on a number: ``key.one`` or ``key.many``, with the field ``number``."""
        return self(f"{key}.one" if number == 1 else f"{key}.many", number=self.number(number), **values)

    def number(self, value: float) -> str:
        """A number with separated thousands."""
        text = f"{value:,}"
        return text if self.language == "en" else text.translate(str.maketrans(",.", ".,"))

    # -- times ----------------------------------------------------------------------------------------------------

    def day(self, value: date, today: date | None = None) -> str:
        """A day in everyday form: today, tomorrow, Fri, 12 Nov, 12 Nov 2025."""
        today = today or datetime.now(self.zone).date()
        away = (value - today).days
        if away in (-1, 0, 1):
            return self(("shell.yesterday", "shell.today", "shell.tomorrow")[away + 1])
        if 1 < away < 7:
            return _DAYS[self._number][value.weekday()]
        year = "" if value.year == today.year else f" {value.year}"
        return f"{value.day} {_MONTHS[self._number][value.month - 1]}{year}"

    def weekday(self, value: date) -> str:
        """The name of a day of the week: Mon."""
        return _DAYS[self._number][value.weekday()]

    def month(self, value: date) -> str:
        """The name of a month: November."""
        return _LONG_MONTHS[self._number][value.month - 1]

    def time(self, value: datetime) -> str:
        """The time of day, with the day if that is not today: 14:02, yesterday 9:30, 12 Nov 14:02."""
        here = value.astimezone(self.zone)
        clock = f"{here.hour}:{here.minute:02}"
        today = datetime.now(self.zone).date()
        return clock if here.date() == today else f"{self.day(here.date(), today)} {clock}"

    def ago(self, value: datetime, now: datetime | None = None) -> str:
        """How long ago something was: now, 5 min, 3 h, and then the day."""
        past = (now or datetime.now(UTC)) - value
        if past < timedelta(minutes=1):
            return self("shell.now")
        if past < timedelta(hours=1):
            return f"{int(past.total_seconds() // 60)} min"
        if past < timedelta(hours=24):
            return f"{int(past.total_seconds() // 3600)} h"
        return self.day(value.astimezone(self.zone).date())

    def exact(self, value: datetime) -> str:
        """A time in full, as the tooltip of a short one."""
        here = value.astimezone(self.zone)
        month = _MONTHS[self._number][here.month - 1]
        return f"{here.day} {month} {here.year} {here.hour}:{here.minute:02}:{here.second:02} ({self.zone.key})"

    def span(self, value: timedelta) -> str:
        """How long something takes: 45 s, 12 min, 3 h 12 min, 2 d 4 h."""
        seconds = int(value.total_seconds())
        if seconds < 60:
            return f"{seconds} s"
        if seconds < 3600:
            return f"{seconds // 60} min"
        if seconds < 86_400:
            return f"{seconds // 3600} h {seconds % 3600 // 60} min"
        return f"{seconds // 86_400} {self('shell.days')} {seconds % 86_400 // 3600} h"


def parsed_time(text: str | None) -> datetime | None:
    """Parse a time of the APIs; None for None."""
    return datetime.fromisoformat(text) if text else None


def language_of(chosen: str | None, accepted: str) -> str:
    """The language that the user chose, or the first one in ``Accept-Language`` that is available."""
    if chosen in LANGUAGES:
        return chosen or LANGUAGES[0]
    for part in accepted.split(",")[:20]:
        code = part.partition(";")[0].strip().lower()[:2]
        if code in LANGUAGES:
            return code
    return LANGUAGES[0]


def zone_of(name: str | None) -> ZoneInfo:
    """The time zone of a browser, by name; UTC if there is no such zone."""
    try:
        return ZoneInfo(name or "UTC")
    except (ValueError, OSError, KeyError):
        return ZoneInfo("UTC")
