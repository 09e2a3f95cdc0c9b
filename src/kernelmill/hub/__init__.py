"""A Hub of your own, for unmodified Hugging Face clients."""
