"""A file's cells before anything is known about them: every column as its distinct texts and a code a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.messages import count_text, listed
from autoprog.cohort.names import HIDDEN, is_hidden
from autoprog.cohort.spec_values import MAX_COLUMNS, MAX_NAME
from autoprog.errors import Fault


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much of a file is read at most.

    Attributes
    ----------
    decompressed_bytes : int
        Bytes of the file once it is decompressed.
    cells : int
        Rows times columns.
    rows : int
        Lines of a CSV file, rows of a Parquet file.
    columns : int
        Columns.
    """

    decompressed_bytes: int = 512 * 1024 * 1024
    cells: int = 50_000_000
    rows: int = 5_000_000
    columns: int = MAX_COLUMNS


@dataclass(frozen=True, eq=False)
class Column:
    """One column.

    Attributes
    ----------
    name : str
        From the header, without the blanks around it.
    texts : pyarrow.Array of strings, length n_distinct
        The different cells, without the blanks around them; an empty text is an empty cell.
    codes : ndarray, shape = (n_rows,)
        Index of each row's cell in `texts`.
    """

    name: str
    texts: pa.Array
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, cells: pa.Array) -> Column:
        """The column of these cells.

        Parameters
        ----------
        name : str
            Its name.
        cells : pyarrow.Array, length n_rows
            A dictionary, or of a type that casts to text; null is an empty cell.

        Returns
        -------
        Column
            The same cells as distinct texts.

        Raises
        ------
        pyarrow.ArrowNotImplementedError, pyarrow.ArrowInvalid
            If the cells have no text.
        """
        if not pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_encode()
        texts = pc.fill_null(pc.cast(cells.dictionary, pa.large_string()), "")
        texts = pa.concat_arrays([pc.utf8_trim_whitespace(texts), pa.array([""], pa.large_string())])
        codes = pc.fill_null(pc.cast(cells.indices, pa.int64()), len(texts) - 1)
        return cls(name, texts, np.asarray(codes)).compact()

    def compact(self) -> Column:
        """Drop the texts that no row has."""
        used = np.bincount(self.codes, minlength=len(self.texts)) > 0
        if used.all():
            return self
        new_codes = np.cumsum(used) - 1
        return Column(self.name, self.texts.filter(pa.array(used)), new_codes[self.codes])

    def take(self, rows: NDArray[np.intp]) -> Column:
        """The column of some of the rows, in this order."""
        return Column(self.name, self.texts, self.codes[rows]).compact()


@dataclass(frozen=True, eq=False)
class Table:
    """The rows that could be read.

    Attributes
    ----------
    columns : mapping of str to Column
        In the file's order.
    lines : ndarray, shape = (n_rows,)
        Where each row stands: in a CSV the line that it starts on, the header being line 1; in Parquet its number
        from 1.
    decimal_comma : bool
        Whether a comma in a cell can be a decimal comma, as it does not separate cells.
    """

    columns: Mapping[str, Column]
    lines: NDArray[np.int64]
    decimal_comma: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """The table of some of the rows, in this order; this one if it is all of them as they stand."""
        if np.array_equal(rows, np.arange(self.n_rows)):
            return self
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Table(columns, self.lines[rows], self.decimal_comma)


@dataclass(frozen=True, eq=False)
class Parsed:
    """What was found in a file.

    Attributes
    ----------
    names : tuple of str
        Names of the columns; empty where no header could be read.
    table : Table or None
        The sound rows of the columns that have a name of their own; None where there are too few to judge.
    faults : tuple of Fault
        What is wrong with the file's structure.
    """

    names: tuple[str, ...]
    table: Table | None
    faults: tuple[Fault, ...]


def name_faults(names: Sequence[str], limits: ReadLimits) -> list[Fault]:
    """What is wrong with a header.

    Parameters
    ----------
    names : sequence of str
        The columns' names, without the blanks around them.
    limits : ReadLimits
        Bounds the number of columns.

    Returns
    -------
    list of Fault
        Too many columns; names that are empty, too long, used twice or hold what is not seen.
    """
    faults: list[Fault] = []
    if len(names) > limits.columns:
        faults.append(too_many_columns(len(names), limits))
    nameless = [i for i, name in enumerate(names, 1) if not name]
    if nameless:
        which = listed((str(i) for i in nameless), len(nameless))
        faults.append(Fault("/file", f"{count_text(len(nameless), 'column')} without a name: number {which}"))
    long = [i for i, name in enumerate(names, 1) if len(name) > MAX_NAME]
    if long:
        which = listed((str(i) for i in long), len(long))
        faults.append(Fault("/file", f"columns with a name of more than {MAX_NAME} characters: number {which}"))
    hidden = [i for i, name in enumerate(names, 1) if is_hidden(name)]
    if hidden:
        which = listed((str(i) for i in hidden), len(hidden))
        faults.append(Fault("/file", f"a column's name {HIDDEN}: number {which}"))
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names, 1):
        places.setdefault(name, []).append(i)
    repeated = {name: at for name, at in places.items() if name and len(at) > 1}
    if repeated:
        which = listed((f"{short(n, 60)} ({len(at)} times)" for n, at in repeated.items()), len(repeated))
        faults.append(Fault("/file", f"column names must differ; repeated are {which}"))
    return faults


def too_many_columns(n: int, limits: ReadLimits) -> Fault:
    """What is wrong with a file of so many."""
    return Fault("/file", f"the file has {n:,} columns; at most {limits.columns:,} are read")


def usable_columns(names: Sequence[str]) -> dict[str, int]:
    """The columns that can be told apart.

    Parameters
    ----------
    names : sequence of str
        The header.

    Returns
    -------
    dict of str to int
        Each name that is not empty or too long, and where it stands first.
    """
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name and len(name) <= MAX_NAME:
            first.setdefault(name, i)
    return first
