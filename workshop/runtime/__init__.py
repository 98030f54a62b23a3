"""Sessions: the conductor that owns a cluster, and the client's side of it."""
