"""A session with a running app, like that of a browser, but without one."""

import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Exception_pb2 import Exception as ShownException
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession
from websockets.sync.client import connect
from websockets.typing import Subprotocol

PATIENCE_SECONDS = 60


@dataclass
class Opened:
    """The app's messages for its first page: its settings, headings and unexpected errors."""

    session: NewSession = field(default_factory=NewSession)
    headings: list[str] = field(default_factory=list)
    errors: list[ShownException] = field(default_factory=list)


def first_page(url: str, *, host: str | None = None) -> Opened:
    """Open the app's first page.

    Args:
        host: the name of this machine in the browser; by default the one in `url`.

    Raises:
        websockets.exceptions.InvalidStatus: the app refuses requests for this host name.
    """
    place = urlsplit(url)
    opened = Opened()
    address = f"ws://{host or place.hostname}:{place.port}/_stcore/stream"
    reached = socket.create_connection((place.hostname or "", place.port or 0))
    with reached, connect(address, sock=reached, subprotocols=[Subprotocol("streamlit")]) as stream:
        stream.send(BackMsg(rerun_script={}).SerializeToString())
        while True:
            message = ForwardMsg()
            message.ParseFromString(stream.recv(timeout=PATIENCE_SECONDS, decode=False))
            if message.HasField("new_session"):
                opened.session = message.new_session
            elif message.HasField("script_finished"):
                return opened
            element = message.delta.new_element
            if element.HasField("heading"):
                opened.headings.append(element.heading.body)
            elif element.HasField("exception"):
                opened.errors.append(element.exception)
