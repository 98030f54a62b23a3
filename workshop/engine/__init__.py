"""What runs on ranks: the context a workload is given, and the ways its events leave the rank."""
