"""The report of a search or of a validation: a document of sections, and its forms as HTML, Markdown and DOCX."""

from autoprog.report.chart import Axis, Band, Bars, Chart, Flow, FlowStep, Line, NumbersAtRisk, Panel, Points
from autoprog.report.document import Column, Figure, ItemList, Notice, Paragraph, Report, Section, Table

__all__ = [
    "Axis",
    "Band",
    "Bars",
    "Chart",
    "Column",
    "Figure",
    "Flow",
    "FlowStep",
    "ItemList",
    "Line",
    "Notice",
    "NumbersAtRisk",
    "Panel",
    "Paragraph",
    "Points",
    "Report",
    "Section",
    "Table",
]
