"""What the plan's templates name: it travels to every institution in the workspace's archive."""
