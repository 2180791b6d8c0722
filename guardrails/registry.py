"""The types of processors that a configuration can name.

They are found by entry point: the built-in ones exactly as anyone else's. Presets are files.
"""

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from guardrails.choices import ChoiceError, shortened
from guardrails.processor import Processor

GROUP: Final = "guardrails.processors"
"""The entry point group in which distributions name their processors."""


class UnusableTypeError(Exception):
    """A type names no processor that can be used; the message says why.

    Attributes:
        nearest: the type that was probably meant where there is none of that name.
    """

    def __init__(self, message: str, nearest: str | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest


class Registry:
    """The types that the installed distributions name."""

    def __init__(self) -> None:
        self._found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=GROUP):
            self._found.setdefault(point.name, []).append(point)

    def names(self) -> list[str]:
        """The types, sorted, whether or not they can be used."""
        return sorted(self._found)

    def owner(self, name: str) -> str:
        """The distributions that name a type, with their versions; empty if none does."""
        return " and ".join(sorted(_owner(point) for point in self._found.get(name, ())))

    def choices(self) -> str:
        """What `type` can be, in words."""
        if not self._found:
            return f"no installed distribution names a type (entry point group {GROUP})"
        return f"choose from {', '.join(self.names())} (found in the entry point group {GROUP})"

    def find(self, name: str) -> type[Processor]:
        """The class of a type.

        Raises:
            UnusableTypeError: there is none, or none that can be used.
        """
        points = self._found.get(name, [])
        if not points:
            unknown = ChoiceError(f"there is no processor type {shortened(repr(name))}", name, self.names())
            raise UnusableTypeError(f"{unknown} (found in the entry point group {GROUP})", unknown.nearest)
        if len(points) > 1:
            raise UnusableTypeError(
                f"the type {name!r} is registered by {self.owner(name)}; uninstall one of them"
            )
        (point,) = points
        source = f"the type {name!r}, which is {point.value} of {_owner(point)},"
        try:
            kind: Any = point.load()
        except Exception as error:
            raise UnusableTypeError(f"{source} cannot be imported: {described(error)}") from error
        if not isinstance(kind, type) or not issubclass(kind, Processor):
            raise UnusableTypeError(f"{source} is no subclass of guardrails.Processor")
        return kind


def presets() -> dict[str, Path]:
    """The configurations that come with the library, by the bare name that finds each."""
    package = Path(__file__).parent
    installed, checkout = package / "configs", package.parent / "configs"
    folder = installed if installed.is_dir() else checkout
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


def described(error: Exception) -> str:
    """An error's class and message, in one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _owner(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unnamed distribution"
