"""What everybody uses: errors, settings, placements, machines, files that others have made, numbers in words."""
