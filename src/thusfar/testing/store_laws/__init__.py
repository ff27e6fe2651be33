"""The laws of `check_store`, by what they are about; each takes a store in an empty namespace."""
