"""What `make lab` changes about Jupyter's server: small messages are sent at once.

Without TCP_NODELAY every move of a slider waits some 40 ms for the network stack to fill a packet
(benchmarks/slider_latency.py measures it). Tornado offers the switch; Jupyter's server does not use it.
"""

import functools

from jupyter_server.services.kernels.websocket import KernelWebsocketHandler


def at_once(opened):
    @functools.wraps(opened)
    async def open_(self, *args, **kwargs):
        if hasattr(self, "set_nodelay"):
            self.set_nodelay(True)
        return await opened(self, *args, **kwargs)

    return open_


KernelWebsocketHandler.open = at_once(KernelWebsocketHandler.open)
