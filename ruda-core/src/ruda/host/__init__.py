"""The host side of a device: the client, its arrays, streams, events and memory."""

from ruda.host.array import Array
from ruda.host.client import ComputeClient, default_client
from ruda.host.pool import MemoryUsage
from ruda.host.profiling import Profile
from ruda.host.stream import Event, Stream

__all__ = ["Array", "ComputeClient", "Event", "MemoryUsage", "Profile", "Stream", "default_client"]
