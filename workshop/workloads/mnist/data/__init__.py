"""The images: MNIST from files, a cache or a download, and scikit-learn's digits."""
