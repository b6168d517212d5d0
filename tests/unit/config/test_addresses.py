"""Addresses as operators write them."""

from pathlib import Path

import pytest

from berth_server.config.addresses import ListenAddress, TcpAddress, UnixAddress, parse_listen_address


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("127.0.0.1:50051", TcpAddress("127.0.0.1", 50051), id="v4"),
        pytest.param("localhost:0", TcpAddress("localhost", 0), id="name"),
        pytest.param("[::1]:65535", TcpAddress("::1", 65535), id="v6"),
        pytest.param("unix:///run/b.sock", UnixAddress(Path("/run/b.sock")), id="unix"),
    ],
)
def test_reads_an_address_and_writes_it_back(text: str, want: ListenAddress) -> None:
    """The text of an address is the address."""
    assert parse_listen_address(text) == want
    assert str(want) == text


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "must be host:port", id="empty"),
        pytest.param("50051", "must be host:port", id="port-alone"),
        pytest.param("localhost", "must be host:port", id="host-alone"),
        pytest.param("localhost:", "must be host:port", id="no-port"),
        pytest.param("localhost:65536", "must be host:port", id="port-large"),
        pytest.param("localhost:-1", "must be host:port", id="port-negative"),
        pytest.param("::1:50051", "must be host:port", id="v6-without-brackets"),
        pytest.param("http://localhost:80", "must be host:port", id="url"),
        pytest.param(":50051", "must name a host before the port, such as 127.0.0.1:50051", id="no-host"),
        pytest.param("unix:/run/b.sock", "must be unix:// and an absolute path", id="one-slash"),
        pytest.param("unix://run/b.sock", "must be unix:// and an absolute path", id="relative"),
        pytest.param("unix://", "must be unix:// and an absolute path", id="no-path"),
    ],
)
def test_says_what_an_address_must_look_like(text: str, want: str) -> None:
    """Anything else is refused with an example."""
    with pytest.raises(ValueError, match=r"^must ") as caught:
        parse_listen_address(text)
    assert str(caught.value).startswith(want)


@pytest.mark.parametrize(
    ("host", "want"),
    [
        pytest.param("localhost", True, id="localhost"),
        pytest.param("127.9.9.9", True, id="v4-loopback"),
        pytest.param("::1", True, id="v6-loopback"),
        pytest.param("0.0.0.0", False, id="v4-every"),  # noqa: S104 - a value
        pytest.param("::", False, id="v6-every"),
        pytest.param("10.0.0.1", False, id="network"),
        pytest.param("127.0.0.1.example.com", False, id="a-name-that-looks-like-it"),
    ],
)
def test_knows_loopback(host: str, want: bool) -> None:  # noqa: FBT001
    """Only what cannot be reached from another machine is loopback."""
    assert TcpAddress(host, 1).is_loopback is want
