"""Masking of secrets in free text: passwords, one-time codes, serial numbers of devices.

    text ──▶ folded_text ──▶ tokens ──▶ cue words ──▶ candidates ──▶ spans ──▶ text with [removed] in their place
             look-alikes     words       vocabulary    secret_shapes   secret_spans
             are Latin,      and         seven
             invisible       signs       languages
             marks are gone

A secret is recognised by a cue ("password", "Seriennummer") and by its link to the cue: a sign ("password: x"), a
copula ("x is my password"), a verb of typing ("I enter x"), or nothing at all ("pin 4711"). The weaker the link, the
more a candidate has to look like a secret. To add a word or a language, add a line to ``vocabulary``.

Only a window of tokens around a cue is examined, so the work grows linearly with the length of the text.
"""
