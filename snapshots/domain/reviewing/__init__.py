"""Places that notes point at, and the sentences of the trail: pure values, without I/O."""
