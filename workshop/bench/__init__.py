"""Speed, measured side by side: ours and its peers interleaved in one run."""
