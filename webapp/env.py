"""Read settings from the environment, with types and clear errors."""

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable; ``default`` is the text that the README shows."""

    name: str
    default: str
    meaning: str


SETTINGS: dict[str, Setting] = {}


def env_str(name: str, default: str, meaning: str, *, shown: str | None = None) -> str:
    """Return a text; ``shown`` is the documented default if the real one depends on the machine."""
    SETTINGS[name] = Setting(name, default if shown is None else shown, meaning)
    return os.environ.get(name) or default


def env_int(
    name: str, default: int, meaning: str, *, minimum: int = 1, shown: str | None = None
) -> int:
    text = env_str(name, str(default), meaning, shown=shown)
    try:
        number = int(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={text!r} is not a whole number.") from None
    if number < minimum:
        raise ImproperlyConfigured(f"{name}={text!r} is less than {minimum}.")
    return number


def env_port(name: str, default: int, meaning: str, *, shown: str | None = None) -> int:
    port = env_int(name, default, meaning, shown=shown)
    if port > 65_535:
        raise ImproperlyConfigured(f"{name}='{port}' is not a port: ports end at 65535.")
    return port


def env_bool(name: str, default: bool, meaning: str) -> bool:
    text = env_str(name, "yes" if default else "no", meaning).lower()
    if text not in {"yes", "true", "1", "on", "no", "false", "0", "off"}:
        raise ImproperlyConfigured(f"{name}={text!r} is neither yes nor no.")
    return text in {"yes", "true", "1", "on"}


def env_list(name: str, default: str, meaning: str, *, shown: str | None = None) -> list[str]:
    """Return a list of texts that are separated by commas; blanks around them do not count."""
    parts = env_str(name, default, meaning, shown=shown).split(",")
    return [part.strip() for part in parts if part.strip()]


def env_networks(name: str, default: str, meaning: str, *, shown: str) -> tuple[Network, ...]:
    """Return the addresses and networks in a list that is separated by commas."""
    try:
        parts = env_list(name, default, meaning, shown=shown)
        return tuple(ipaddress.ip_network(part, strict=False) for part in parts)
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name}: {error}. Use addresses and networks, such as 127.0.0.1,10.0.0.0/8."
        ) from None


def env_choice(name: str, choices: tuple[str, ...], meaning: str) -> str:
    """Return one of several words; the first is the default."""
    word = env_str(name, choices[0], meaning)
    if word not in choices:
        raise ImproperlyConfigured(f"{name}={word!r} is not one of {', '.join(choices)}.")
    return word


def env_folder(name: str, default: Path, meaning: str, *, shown: str) -> Path:
    """Return the absolute path of a folder that exists and can be written."""
    folder = Path(env_str(name, str(default), meaning, shown=shown)).expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}: the folder {folder} cannot be created ({error.strerror})."
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(
            f"{name}: the folder {folder} cannot be written. Does it belong to someone else?"
        )
    return folder
