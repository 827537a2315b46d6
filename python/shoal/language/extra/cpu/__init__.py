"""What belongs to CPUs."""

from shoal.language.extra import libdevice

__all__ = ["libdevice"]
