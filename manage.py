#!/usr/bin/env python
import gc
import os
import sys

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    # To look for garbage among modules that are being imported takes a fifth of the start.
    gc.disable()
    try:
        django.setup()
        gc.freeze()
        gc.enable()
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
