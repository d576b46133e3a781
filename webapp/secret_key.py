import os
import secrets
from pathlib import Path


def read_or_make(path: Path) -> str:
    """Return the secret in ``path``; create it on first use, readable only by its owner.

    Two processes may start at once: the link fails for the second, which then reads the first's.
    """
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text()
