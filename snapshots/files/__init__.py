"""What keeps and guards files: whose they are, who may read them, what is removed, backups."""
