"""The table of networks, from both sides of each border, and against the standard library."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.egress.addresses import PRIVATE_NETWORKS, Reach, is_reserved_name, parse_address, place_of

# Two cores are shared by many: how long an example takes says nothing.
ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

BORDERS = [
    ("9.255.255.255", Reach.PUBLIC),
    ("10.0.0.0", Reach.PRIVATE),
    ("10.255.255.255", Reach.PRIVATE),
    ("11.0.0.0", Reach.PUBLIC),
    ("100.63.255.255", Reach.PUBLIC),
    ("100.64.0.0", Reach.PRIVATE),
    ("100.100.100.199", Reach.PRIVATE),
    ("100.100.100.200", Reach.FORBIDDEN),
    ("100.127.255.255", Reach.PRIVATE),
    ("100.128.0.0", Reach.PUBLIC),
    ("126.255.255.255", Reach.PUBLIC),
    ("127.0.0.1", Reach.LOOPBACK),
    ("127.255.255.255", Reach.LOOPBACK),
    ("168.63.129.15", Reach.PUBLIC),
    ("168.63.129.16", Reach.FORBIDDEN),
    ("168.63.129.17", Reach.PUBLIC),
    ("169.253.255.255", Reach.PUBLIC),
    ("169.254.169.254", Reach.FORBIDDEN),
    ("172.15.255.255", Reach.PUBLIC),
    ("172.16.0.0", Reach.PRIVATE),
    ("172.31.255.255", Reach.PRIVATE),
    ("172.32.0.0", Reach.PUBLIC),
    ("192.0.0.192", Reach.FORBIDDEN),
    ("192.88.99.1", Reach.FORBIDDEN),
    ("192.168.255.255", Reach.PRIVATE),
    ("192.169.0.0", Reach.PUBLIC),
    ("198.17.255.255", Reach.PUBLIC),
    ("198.18.0.0", Reach.FORBIDDEN),
    ("198.19.255.255", Reach.FORBIDDEN),
    ("223.255.255.255", Reach.PUBLIC),
    ("224.0.0.0", Reach.FORBIDDEN),
    ("255.255.255.255", Reach.FORBIDDEN),
    ("::", Reach.FORBIDDEN),
    ("::1", Reach.LOOPBACK),
    ("::2", Reach.FORBIDDEN),
    ("::ffff:93.184.216.34", Reach.FORBIDDEN),
    ("::ffff:0:93.184.216.34", Reach.FORBIDDEN),
    ("64:ff9b::5db8:d822", Reach.FORBIDDEN),
    ("1fff:ffff::1", Reach.FORBIDDEN),
    ("2001::1", Reach.FORBIDDEN),
    ("2001:1ff:ffff::1", Reach.FORBIDDEN),
    ("2001:200::1", Reach.PUBLIC),
    ("2001:db8::1", Reach.FORBIDDEN),
    ("2001:db9::1", Reach.PUBLIC),
    ("2002:5db8:d822::1", Reach.FORBIDDEN),
    ("2606:4700::1111", Reach.PUBLIC),
    ("3fff:fff::1", Reach.FORBIDDEN),
    ("3fff:1000::1", Reach.PUBLIC),
    ("4000::1", Reach.FORBIDDEN),
    ("fc00::1", Reach.PRIVATE),
    ("fd00:ec2::254", Reach.FORBIDDEN),
    ("fd20:ce::254", Reach.FORBIDDEN),
    ("fd20:ce::255", Reach.PRIVATE),
    ("fe80::1", Reach.FORBIDDEN),
    ("fec0::1", Reach.FORBIDDEN),
    ("ff02::1", Reach.FORBIDDEN),
]


@pytest.mark.parametrize(("address", "reach"), BORDERS)
def test_an_address_reaches_as_far_as_its_network(address: str, reach: Reach):
    assert place_of(ip_address(address)).reach is reach


@ANY_SPEED
@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_is_public_that_the_standard_library_calls_special(address: IPv4Address | IPv6Address):
    place = place_of(address)

    assert place.what
    assert place.reach is not Reach.PUBLIC or (address.is_global and not address.is_multicast)


@ANY_SPEED
@given(st.ip_addresses(v=4))
def test_no_ipv6_spelling_of_an_ipv4_address_gets_anywhere(address: IPv4Address):
    number = int(address)
    spellings = [
        IPv6Address(number),
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0xFFFF << 48) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x64FF9B0001 << 80) | number),
        IPv6Address((0x2002 << 112) | (number << 80) | 1),
        IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),
    ]

    reaches = {place_of(spelling).reach for spelling in spellings if spelling != IPv6Address(1)}

    assert reaches <= {Reach.FORBIDDEN}


@pytest.mark.parametrize(
    "text",
    [
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "127.0.0.1.",
        "fe80::1%eth0",
        "1.2.3",
        "",
        "\u0661.1.1.1",
        "[::1]",
    ],
)
def test_only_the_plain_spelling_is_an_address(text: str):
    assert parse_address(text) is None


def test_a_plain_spelling_is_read():
    assert parse_address("93.184.216.34") == IPv4Address("93.184.216.34")
    assert parse_address("2606:4700:0:0::1111") == IPv6Address("2606:4700::1111")


def test_only_private_networks_can_be_opened_in_part():
    reaches = {place_of(network.network_address).reach for network in PRIVATE_NETWORKS}

    assert reaches == {Reach.PRIVATE}


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("localhost.localdomain", True),
        ("metadata", True),
        ("metadata.goog", True),
        ("instance-data.ec2.internal", True),
        ("kubernetes.default.svc.cluster.local", True),
        ("gateway.docker.internal", True),
        ("localhost.example.com", False),
        ("notlocalhost", False),
        ("my-metadata.example.com", False),
        ("prometheus.internal", False),
    ],
)
def test_names_that_lead_inside_are_known(name: str, reserved: bool):
    assert is_reserved_name(name) is reserved
