"""How people give secrets away in plain speech: passwords, one-time codes, serials of devices.

Each rule is a pattern whose groups are what has to go. A rule looks for the word that gives a secret away and for what
links it to the secret, in either order, in writing and in transcripts of speech ("the code is four eight two nine").
What is too much is weighed against what is too little: a word that could be a password and is none is a smaller harm
than a password that is kept. What plain speech says of passwords all the time ("is not accepted") stays.

The patterns are in English, as the desk is. All repetition in them is bounded, so that no text takes long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# -- words ----------------------------------------------------------------------------------------------------------

# What follows "password is" when something is said about it, and not what it is.
_PLAIN = (
    "a|about|accepted|again|all|also|always|an|and|any|apparently|as|asked|at|available|bad|because|before|being|below|"
    "blank|blocked|broken|but|by|case|causing|changed|complex|compromised|correct|correctly|currently|default|"
    "definitely|different|disabled|due|easy|empty|encrypted|enough|everywhere|exactly|expired|expiring|fine|for|forgotten|"
    "from|getting|going|gone|good|hard|here|his|her|hidden|how|if|in|inactive|incorrect|insecure|invalid|it|just|known|"
    "later|less|locked|long|longer|lost|mandatory|maybe|missing|mixed|more|my|needed|neither|never|new|no|not|now|of|ok|"
    "okay|old|older|on|one|only|optional|or|our|out|over|probably|private|protected|really|refused|rejected|required|reset|"
    "right|safe|same|saved|secret|secure|sensitive|set|short|shorter|shown|simple|so|somehow|something|sometimes|"
    "somewhere|nowhere|soon|still|stored|strong|stuck|sure|synced|temporary|that|the|their|them|there|this|to|too|"
    "unable|unchanged|under|unknown|until|up|usually|valid|very|visible|weak|what|when|where|whether|which|why|with|"
    "without|working|wrong|written|your"
)
# What follows "my password to" when a purpose is said.
_PURPOSE = (
    "access|be|begin|connect|continue|do|enter|expire|fix|gain|get|give|have|it|keep|let|log|login|make|match|meet|open|"
    "regain|restore|see|sign|something|start|stop|test|unlock|use|view|work|anyone|anybody|everyone|someone|colleagues|"
    "him|her|them|you|us|me|nobody|another|others|support|helpdesk"
)
# "password manager" and the like are things, and no passwords.
_THINGS = (
    "age|attempts?|box|change|changes|complexity|dialog|emails?|entry|expiration|expiry|field|form|generator|history|"
    "hints?|issues?|length|link|links|manager|managers|page|policies|policy|popup|portal|problems?|prompts?|protection|"
    "recovery|request|requests|requirements?|reset|resets|rotation|rules?|screen|service|strength|sync|tool|vault|window"
)
# Codes that are no secrets.
_OPEN_CODES = (
    "error|exit|status|stop|zip|area|postal|post|country|dialling|dialing|bar|qr|return|fault|event|product|item|cost|"
    "department|promo|discount|reference|response|http|result|reason|source|colour|color|building|branch|service|bug|"
    "check|company|project|transaction|location|site|floor"
)
# What numbers are of, when they are no codes.
_NUMBERED = (
    "ticket|case|incident|inc|order|room|extension|ext|build|version|kb|port|request|ref|reference|call|phone|desk"
)

_DIGIT_WORD = "zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple"
# A letter or a sign, as somebody says it who spells.
_SPELLED = (
    rf"{_DIGIT_WORD}|ten|twenty|capital|uppercase|lowercase|upper|lower|big|small|letter|hash|hashtag|dollar|ampersand|"
    r"underscore|dash|hyphen|dot|exclamation|question|mark|star|asterisk|plus|slash|percent|[A-Za-z0-9]"
)

# -- parts of patterns ----------------------------------------------------------------------------------------------

MASK: Final = "[removed]"
_MARKS = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"
_NOT_MASKED = rf"(?![{_MARKS}(]?\[removed\](?:[\s.,;:)\]{_MARKS}]|$))"
# Inside of one clause: no end of a sentence, no line, no quotation, no link.
_WORDS = rf"(?:[ \t]{{1,3}}(?!(?:is|was|are|were|to)\b)(?:[^\s:=.,;?!{_MARKS}]|\.(?=\w)){{1,40}}){{0,7}}?"
_GAP = r"[ \t\u00a0]{1,3}"
_SIGN = r"[\"']?\s{0,3}(?::=|[:=]|->|=>)\s{0,3}"
_IS = (
    rf"(?:,?{_GAP}which)?(?:\s{{1,3}}(?:is|was|are|were|reads|being)|'s)"
    rf"(?:{_GAP}(?:just|now|currently|actually))?(?:\s{{0,3}}:)?\s{{1,3}}"
)
# An apostrophe stands between letters, and a quotation mark does not.
_QUOTED = rf"(?<!\w)[{_MARKS}]{_NOT_MASKED}(?![\s:=,])([^{_MARKS}\n]{{1,200}})[{_MARKS}](?!\w)"
# A word, without what ends its sentence or closes its bracket; then what is spelled behind it.
_END = rf"(?=[.,;:)\]{_MARKS}]{{0,3}}(?:\s|$))"
_TOKEN = rf"{_NOT_MASKED}\S{{1,200}}?{_END}"
_SPOKEN = rf"(?:{_GAP}(?:{_SPELLED})(?![\w']))"
_VALUE = rf"({_TOKEN}{_SPOKEN}{{0,40}})"
# To the end of the clause: some secrets are several words.
_REST = (
    rf"({_NOT_MASKED}(?![\s{_MARKS}])[^\n,;]{{1,200}}?)"
    r"(?=[,;\n]|[.?!](?:\s|$)|\s{1,3}(?:and|but|so|because|when|it|which)\b|$)"
)
# A word that nobody would say: letters with digits or signs in it.
_ODD = (
    rf"{_NOT_MASKED}(?![{_MARKS}(\[{{])(?=\S{{0,60}}[A-Za-z])(?=\S{{0,60}}(?:[0-9]|[@#$%^&*_+=!?][A-Za-z0-9]))"
    rf"\S{{4,60}}?{_END}"
)
_WHOLE = rf"(?=(?:'[a-z]{{1,2}})?[.,;:!?)\]{_MARKS}]{{0,3}}(?:\s|$))"
_ABOUT_IT = rf"(?!(?:{_PLAIN}|[a-z]{{2,20}}(?:ing|ed|n't)){_WHOLE})"
_FOR = rf"(?!(?:{_PLAIN}|{_PURPOSE}){_WHOLE})"

_PASSWORD = rf"\b(?:pass[ -]?words?|passwd|pwd|pw|p/w|pass[ -]?codes?)(?!{_GAP}(?:{_THINGS}){_WHOLE})(?![\w-])"
_OF_PASSWORD = (
    rf"(?:{_GAP}(?:is|was|as|for|being)|[ ,-]{{1,3}}(?:that's|that is|which is)){_GAP}"
    rf"(?:(?:my|the|his|her|our|a|new|old|current){_GAP}){{0,2}}{_PASSWORD}"
)
_PHRASE = r"\b(?:pass[ -]?phrases?|credentials?|log-?in details)\b"
_PIN = r"\b(?:pin(?:[ -]?(?:code|number))?|pass[ -]?code)\b"

_DIGIT = rf"(?:\d|(?:{_DIGIT_WORD})\b)"
_CODE = rf"(?:[A-Z]{{1,3}}-)?(?:\d(?:[ \u00a0.-]?\d){{3,9}}|{_DIGIT}(?:[ ,\u00a0-]{{1,2}}{_DIGIT}){{3,9}})"
# Where nothing that is part of a code can follow it, trying fewer digits only takes time.
_ALL_OF_CODE = _CODE.replace("{3,9}", "{3,9}+")
_CODE_WORD = (
    r"(?:mfa|2fa|two[- ]factor|otp|totp|one[- ]?time(?:[ -](?:code|pass(?:word|code)?|pin))?|verification|"
    r"authenticat(?:or|ion)|confirmation|security[ -]code|sms[ -]code|log-?in[ -]code|access[ -]code|token)"
)
_SIX = r"\d{3}[ -]?\d{3}(?:[ -]?\d{1,2})?"
_NOT_NUMBERED = r"(?<![\w.#])" + "".join(f"(?<!{word} )(?<!{word} is )" for word in _NUMBERED.split("|"))
_NOT_OPEN = r"(?<!\w)" + "".join(f"(?<!{word} )" for word in _OPEN_CODES.split("|"))

_SERIAL_WORD = (
    r"\b(?:serial[ -]?(?:numbers?|nos?\b\.?|nrs?\b\.?|num\b|#|code|id)|s/n|service[ -]?tags?|"
    r"asset[ -]?(?:tags?|numbers?)|imei(?:[ -]?(?:number|no\b\.?))?|meid|udid|"
    r"device[ -]?(?:ids?|identifier|serials?)|hardware[ -]?id)"
)
# What is serial, and has no serial number in its name.
_SERIAL_THINGS = "ports?|cables?|consoles?|adapters?|interfaces?|connections?|connectors?|bus|lines?|mouse"
# Letters and digits, or many digits; perhaps in groups.
_SERIAL = (
    rf"{_NOT_MASKED}(?=[A-Za-z-]{{0,30}}\d)(?=\d{{0,5}}[A-Za-z-]|\d{{6}})[A-Za-z0-9][A-Za-z0-9/-]{{3,40}}"
    r"(?:[ ](?=[A-Z0-9]{0,5}\d)[A-Z0-9]{2,6}(?![\w.,]*[a-z])){0,5}"
)

# -- rules ----------------------------------------------------------------------------------------------------------


def _rule(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


def _exact(*patterns: str) -> tuple[re.Pattern[str], ...]:
    """Rules in which it matters whether letters are large."""
    return tuple(re.compile(pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of secret, and the patterns that it is found by.

    Most texts have none of the words that could give one away (``hints``), and need not be looked through.
    """

    name: str
    hints: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]


KINDS: Final = (
    Kind(
        "password",
        ("pass", "pw", "p/w", "pin", "credential", "details", "://"),
        _rule(
            # password: x    "password": "x"
            rf"{_PASSWORD}{_WORDS}{_SIGN}(?:{_QUOTED}|{_VALUE})",
            rf"\b(?:pass|pw|pwd){_SIGN}(?:{_QUOTED}|{_VALUE})",
            # my password for the VPN is x
            rf"{_PASSWORD}{_WORDS}{_IS}(?:{_QUOTED}|{_ABOUT_IT}{_VALUE})",
            # changed the password (from x) to y
            rf"{_PASSWORD}{_WORDS}{_GAP}from{_GAP}(?:{_QUOTED}|{_FOR}{_VALUE}){_GAP}to{_GAP}(?:{_QUOTED}|{_VALUE})",
            rf"{_PASSWORD}{_WORDS}{_GAP}to(?:{_GAP}be)?{_GAP}(?:{_QUOTED}|{_FOR}{_VALUE})",
            # the password was changed to x    it is set to x
            rf"{_PASSWORD}{_WORDS}(?:{_GAP}(?:is|was|were|been|got|now|just)){{1,3}}{_GAP}(?:re-?set|set|changed|updated)"
            rf"{_GAP}to{_GAP}(?:{_QUOTED}|{_FOR}{_VALUE})",
            # password 'x'    password (x)
            rf"{_PASSWORD}{_WORDS}[ \t]{{0,3}}{_QUOTED}",
            rf"{_PASSWORD}[ \t]{{0,3}}\(({_NOT_MASKED}[^()\s]{{4,60}})\)",
            # user bob password hunter2
            rf"{_PASSWORD}{_GAP}(?!(?:office365|[mo]365|win(?:dows)?1[01]|outlook20\d\d){_WHOLE})({_ODD})",
            # hunter2 is my password    tried 'hunter2' as the password
            rf"(?<!\S)({_ODD}){_OF_PASSWORD}",
            rf"{_QUOTED}{_OF_PASSWORD}",
            rf"\b(?:typed|entered|tried){_GAP}(?:in{_GAP})?(?!(?:{_PLAIN}){_WHOLE})({_TOKEN}){_OF_PASSWORD}",
            # my new password, hunter2, does not work    <password>x</password>
            rf"{_PASSWORD},{_GAP}({_ODD})(?=,)",
            r"<(?:password|passwd|pwd|pass)>(?!\[removed\]<)([^\n]{1,200}?)</",
            # my password is not hunter2 any more    the usual one, like hunter2
            rf"{_PASSWORD}{_WORDS}{_IS}(?:(?:not|no|longer|still|always|probably|maybe|really|something|like|the|same|as|my|"
            rf"old|usual|one|a|simple){_GAP}){{1,5}}({_ODD})",
            # password - hunter2    What is your password? It's hunter2
            rf"{_PASSWORD}{_GAP}[\u2010-\u2015-]{_GAP}({_ODD})",
            rf"{_PASSWORD}[?.!]\s{{1,3}}(?:(?:it's|it is|that's|that is|yes|sure|ok|\w{{1,20}}:),?\s{{1,3}}){{0,3}}"
            rf"({_ODD})",
            rf"\bpass{_IS}({_ODD})",
            # several words
            rf"{_PHRASE}{_WORDS}{_SIGN}(?:{_QUOTED}|{_REST})",
            rf"{_PHRASE}{_WORDS}{_IS}(?:{_QUOTED}|{_ABOUT_IT}{_REST})",
            rf"\bpass[ -]?phrase{_WORDS}{_IS}{_REST}",
            rf"{_PHRASE}{_GAP}({_ODD})",
            # https://bob:hunter2@example.org
            rf"://[^/\s:@]{{1,60}}:({_NOT_MASKED}[^/\s]{{1,100}})@",
            # PIN 4711
            rf"{_PIN}{_WORDS}(?:{_SIGN}|{_IS}|{_GAP})({_CODE})(?!\w)",
        ),
    ),
    Kind(
        "mfa_code",
        (
            "code",
            "mfa",
            "2fa",
            "factor",
            "otp",
            "one-time",
            "one time",
            "onetime",
            "verif",
            "authent",
            "confirm",
            "token",
            "backup",
            "recovery",
            "rescue",
            "scratch",
            "sms",
            "text",
        ),
        _rule(
            # the code is 482 910    the code I got from the app: 482910
            rf"{_NOT_OPEN}codes?\b{_WORDS}(?:{_SIGN}|{_IS}|\?\s{{1,3}}|{_GAP}(?!(?:19|20)\d\d\b))"
            rf"(?:{_QUOTED}|({_CODE})(?!\w))",
            rf"{_NOT_OPEN}codes?\b{_WORDS}(?:{_SIGN}|{_IS})({_ODD})",
            # MFA 482910    the authenticator shows 482910
            rf"\b{_CODE_WORD}\b{_WORDS}(?:{_SIGN}|{_IS}|{_GAP}){_NOT_NUMBERED}({_SIX})(?![\w-])",
            # the SMS said 482910
            rf"\b(?:sms|text|texted){_WORDS}{_GAP}{_NOT_NUMBERED}({_SIX})(?![\w-])",
            rf"\b{_CODE_WORD}(?:{_GAP}(?:codes?|number|pin|password|token|passcode))?(?:{_SIGN}|{_IS})({_CODE})(?!\w)",
            # 482910 is the code    I typed 482910 into the MFA prompt
            rf"{_NOT_NUMBERED}\b({_ALL_OF_CODE}){_GAP}(?:is|was|as){_GAP}(?:[^\s.,;]{{1,20}}{_GAP}){{0,3}}(?:code|otp|token)\b",
            rf"{_NOT_NUMBERED}\b({_SIX})(?![\w-])(?:{_GAP}[^\s.,;:]{{1,20}}){{0,4}}?{_GAP}{_CODE_WORD}\b",
            # backup codes: abcd-1234
            rf"\b(?:backup|recovery|rescue|scratch)[ -](?:codes?|keys?)\b{_WORDS}(?:{_SIGN}|{_IS}|{_GAP})"
            rf"(\d{{4,8}}(?:[ -]\d{{4,8}}){{1,9}}|{_ODD}(?:[ ,]{{1,2}}{_ODD}){{0,20}}|{_CODE})",
        ),
    ),
    Kind(
        "device_serial",
        ("serial", "s/n", "sn ", "sn:", "sn#", "tag", "asset", "imei", "meid", "udid", "device", "hardware"),
        (
            *_rule(
                rf"{_SERIAL_WORD}(?!\w){_WORDS}(?:{_SIGN}|{_IS}|{_GAP}|\n)(?:{_QUOTED}|({_SERIAL}))",
                # the serial of my laptop is 5CG1234XYZ    (serial 5CG1234XYZ)
                rf"\bserial(?!{_GAP}(?:{_SERIAL_THINGS})\b){_WORDS}(?:{_SIGN}|{_IS})(?:{_QUOTED}|({_SERIAL}))",
                rf"\bserial{_GAP}(?=[A-Z0-9/-]{{7}})({_SERIAL})",
                rf"(?<!\S)({_SERIAL}){_GAP}(?:is|was|as){_GAP}(?:[^\s.,;]{{1,20}}{_GAP}){{0,3}}?{_SERIAL_WORD}",
                # spelled: C zero two X L
                rf"(?:{_SERIAL_WORD}{_WORDS}(?:{_SIGN}|{_IS}|{_GAP})|\bserial(?:{_SIGN}|{_IS}))"
                rf"((?:(?:{_SPELLED})[ ,-]{{1,2}}){{4,40}}(?:{_SPELLED})\b)",
            ),
            # SN: 5CG1234XYZ
            *_exact(rf"\bSN[:# ]{{1,2}}({_SERIAL})"),
        ),
    ),
    # An IMEI needs no word.
    Kind("device_serial", ("",), _rule(r"(?<![\w+-])(\d{2}[ -]?\d{6}[ -]?\d{6}[ -]?\d)(?![\w-])")),
)
