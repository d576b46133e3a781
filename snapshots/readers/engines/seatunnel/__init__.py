"""What Apache SeaTunnel's Zeta engine leaves behind: checkpoint files and REST answers."""
