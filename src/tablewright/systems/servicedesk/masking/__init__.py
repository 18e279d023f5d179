"""Masking of secrets in free text: passwords, one-time codes, serials of devices.

    text ──▶ folded_text ──▶ tokens ──▶ cue words ──▶ candidates ──▶ spans ──▶ text with [removed] in their place
             look-alikes     words       vocabulary    secret_shapes   secret_spans
             are Latin,      and         seven
             invisible       signs       languages
             marks are gone

A secret is given away by a cue ("password", "Seriennummer") and by what links it to the cue: a sign ("password: x"), a
copula ("x is my password"), a verb of typing ("I enter x"), or nothing at all ("pin 4711"). The weaker the link, the
more a candidate has to look like a secret. A new word, or a new language, is a line in ``vocabulary``.

Everything that is looked at from a cue is within a window of tokens, so that the work grows with the length of the
text and no faster.
"""
