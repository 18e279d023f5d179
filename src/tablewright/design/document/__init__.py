"""The design document: tables, entities, patterns, writes and costs, with diagrams.

to_markdown(document(design))

design_document   the document
design_outline    key templates, item collections, relations
item_layout       items by partition and sort key, for the document and the studio
mermaid           diagrams as mermaid
svg_diagrams      the same as SVG
"""

from tablewright.design.document.design_document import document
from tablewright.design.document.item_layout import LaidItem, Partition, lay_out, other_attributes, sample_items
from tablewright.design.document.svg_diagrams import collection_drawing, entity_drawing, flow_drawing

__all__ = [
    "LaidItem",
    "Partition",
    "collection_drawing",
    "document",
    "entity_drawing",
    "flow_drawing",
    "lay_out",
    "other_attributes",
    "sample_items",
]
