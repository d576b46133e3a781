"""Start Django with a database in memory, for benches that ask its pages in their own process."""

import os
from pathlib import Path


def set_up(folder: Path) -> None:
    """Start Django; uploads, stores and all other files of it lie in ``folder``."""
    os.environ |= {"DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    import django
    from django.conf import settings
    from django.core.management import call_command

    settings.DATABASES["default"] |= {"NAME": ":memory:"}
    settings.STORE_URL = (folder / "store").as_uri()
    settings.ALLOWED_HOSTS = ["testserver"]
    django.setup()
    call_command("migrate", verbosity=0)
