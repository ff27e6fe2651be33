"""The one place that holds the package version; nothing else lives here."""

__version__ = "0.1.0"
