"""What the studio shows of designs: access patterns that can be run, findings, documents, files."""
