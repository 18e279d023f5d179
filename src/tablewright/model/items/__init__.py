"""Items as entities, and back: fields and their attributes, decoding, validation, older schema versions."""
