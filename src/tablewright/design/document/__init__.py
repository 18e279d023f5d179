"""The design document: tables, entities, patterns, writes and costs, with diagrams.

to_markdown(document(design))

design_document   the document
design_outline    key templates, item collections, relations
mermaid           diagrams as mermaid
svg_diagrams      the same as SVG
"""

from tablewright.design.document.design_document import document

__all__ = ["document"]
