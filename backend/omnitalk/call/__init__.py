"""One call without I/O: ``Call`` and what it is made of. Imports ``omnitalk.protocol`` only; time comes from a ``Clock``."""
