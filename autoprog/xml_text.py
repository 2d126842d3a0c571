"""Text that an XML document, such as a drawing or a Word file, can hold."""

from __future__ import annotations

import re

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def make_writable(text: str) -> str:
    """Replace the characters that XML 1.0 cannot hold, even escaped: most of those for control, U+FFFE and U+FFFF."""
    return _FORBIDDEN.sub("\ufffd", text)
