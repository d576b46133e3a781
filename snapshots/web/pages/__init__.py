"""The pages: fetch through ``access``, call ``services``, render. One file per kind of page."""
