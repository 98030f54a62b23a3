"""What ranks learn from: data sets, and which share of them a rank owns."""
