"""Tables as columns, of which a DataFrame is made when it is used: pandas loads slowly."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


class Columns(dict[str, NDArray]):
    """A table as columns; those who hold it make a DataFrame of it when one is requested."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return next((column.size for column in self.values()), 0)

    def rows(self, which: Any) -> "Columns":
        """Return some rows."""
        return Columns({name: column[which] for name, column in self.items()})

    def parts(self, size: int) -> Iterator["Columns"]:
        """Yield consecutive rows, at most `size` at a time."""
        return (self.rows(slice(first, first + size)) for first in range(0, len(self), size))

    @classmethod
    def joined(cls, parts: Sequence["Columns"]) -> "Columns":
        """Return tables of the same columns as one, row after row."""
        return cls({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


class HoldsTables:
    """Base of frozen dataclasses with tables that may be given as `Columns`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(frozen=True)
    ... class Waits(HoldsTables):
    ...     _TABLES = ("waits",)
    ...     waits: "pd.DataFrame"
    >>> held = Waits(Columns(wait=np.array([30, 60])))
    >>> held._columns_of("waits")["wait"].tolist(), held.waits["wait"].tolist()
    ([30, 60], [30, 60])
    """

    _TABLES: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self._TABLES:
            if isinstance(table := self.__dict__[name], Columns):
                self.__dict__[f"_{name}_columns"] = table
                del self.__dict__[name]  # so that `__getattr__` is called

    def __getattr__(self, name: str) -> Any:
        """Make a DataFrame of the columns of a table."""
        if name not in self._TABLES or f"_{name}_columns" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        import pandas as pd

        self.__dict__[name] = pd.DataFrame(dict(self.__dict__[f"_{name}_columns"]), copy=False)
        del self.__dict__[f"_{name}_columns"]
        return self.__dict__[name]

    def __dir__(self) -> list[str]:
        """Return the attributes, among them the tables that are made when they are used."""
        return sorted({*super().__dir__(), *self._TABLES})

    def _columns_of(self, name: str) -> "Columns | pd.DataFrame":
        """Return the columns of a table, as a DataFrame if there is one."""
        columns = self.__dict__.get(f"_{name}_columns")
        return self.__dict__[name] if columns is None else columns
