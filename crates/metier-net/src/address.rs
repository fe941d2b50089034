//! Which addresses belong to the public network. Pure.
//!
//! Everything else is refused after a name was resolved: what is private, local to a machine or a
//! link, shared by a provider, or means an IPv4 address in another form. Behind such addresses are
//! routers, databases and the services that hand a cloud machine its keys.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ranges of IPv4 that are not of the public network: address and length of the prefix.
const NOT_PUBLIC_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::UNSPECIFIED, 8), // this network; 0.0.0.0 reaches the machine itself
    (Ipv4Addr::new(10, 0, 0, 0), 8), // private
    (Ipv4Addr::new(100, 64, 0, 0), 10), // shared by providers (CGNAT); 100.100.100.200 too
    (Ipv4Addr::new(127, 0, 0, 0), 8), // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // the host of an Azure machine: public in form only
    (Ipv4Addr::new(169, 254, 0, 0), 16), // link-local; 169.254.169.254 hands out keys
    (Ipv4Addr::new(172, 16, 0, 0), 12), // private
    (Ipv4Addr::new(192, 0, 0, 0), 24), // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24), // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24), // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16), // private
    (Ipv4Addr::new(198, 18, 0, 0), 15), // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24), // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4), // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4), // reserved, broadcast
];

/// Ranges inside `2000::/3` that are not of the public network.
const NOT_PUBLIC_V6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, Teredo
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4: an IPv4 address inside
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Whether an address belongs to the public network.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let inside = |(net, length): &(Ipv4Addr, u32)| {
                v4.to_bits() >> (32 - length) == net.to_bits() >> (32 - length)
            };
            !NOT_PUBLIC_V4.iter().any(inside)
        }
        // Of IPv6 only 2000::/3 is given out. So `::ffff:10.0.0.1`, `::10.0.0.1`, `64:ff9b::`, local
        // and multicast addresses are refused without a line of their own.
        IpAddr::V6(v6) => {
            let inside = |(net, length): &(Ipv6Addr, u32)| {
                v6.to_bits() >> (128 - length) == net.to_bits() >> (128 - length)
            };
            v6.to_bits() >> 125 == 0b001 && !NOT_PUBLIC_V6.iter().any(inside)
        }
    }
}

/// Ranges that homes, companies and single machines use for themselves: address and length of the prefix.
const PRIVATE_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10), // also the range of overlay networks
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
];

/// Addresses inside these ranges that hand a cloud machine its keys.
const KEEPERS_OF_KEYS: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Whether a cloud machine gets its keys at an address, or a machine of the same link could pose as that place: no one
/// means it as a source.
pub fn may_hand_out_keys(address: IpAddr) -> bool {
    let is_keeper = |address: IpAddr| match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4 == Ipv4Addr::new(168, 63, 129, 16),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let meant = match address {
        IpAddr::V6(v6) => v6.to_ipv4().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    [address, meant].iter().any(|it| KEEPERS_OF_KEYS.contains(it) || is_keeper(*it))
}

/// Whether an address belongs to a private network or to this machine, where a server may stand that a user
/// means. Link-local addresses and those of cloud machines' keys are not among them.
pub fn is_private_network(address: IpAddr) -> bool {
    if KEEPERS_OF_KEYS.contains(&address) {
        return false;
    }
    match address {
        IpAddr::V4(v4) => {
            let inside = |(net, length): &(Ipv4Addr, u32)| {
                v4.to_bits() >> (32 - length) == net.to_bits() >> (32 - length)
            };
            PRIVATE_V4.iter().any(inside)
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_of_the_public_network_pass() {
        for good in
            ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111"]
        {
            assert!(is_public(good.parse().expect("an address")), "{good}");
        }
    }

    #[test]
    fn all_others_are_refused() {
        for bad in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.8.8.8",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:8.8.8.8",
            "::ffff:127.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
        ] {
            assert!(!is_public(bad.parse().expect("an address")), "{bad}");
        }
    }

    #[test]
    fn a_private_network_is_neither_public_nor_a_keeper_of_keys() {
        for private in ["10.1.2.3", "127.0.0.1", "192.168.1.1", "100.64.0.1", "::1", "fd12::1"] {
            let address = private.parse().expect("an address");
            assert!(is_private_network(address) && !is_public(address), "{private}");
        }
        for other in [
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "fd00:ec2::254",
            "fe80::1",
            "0.0.0.0",
            "224.0.0.1",
            "::ffff:10.0.0.1",
            "8.8.8.8",
        ] {
            assert!(!is_private_network(other.parse().expect("an address")), "{other}");
        }
    }

    #[test]
    fn what_hands_out_keys_is_known_in_every_form() {
        for keeper in [
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "fd00:ec2::254",
            "fe80::1",
            "::ffff:169.254.169.254",
        ] {
            assert!(may_hand_out_keys(keeper.parse().expect("an address")), "{keeper}");
        }
        for other in ["127.0.0.1", "10.0.0.1", "100.64.0.1", "8.8.8.8", "::1", "fd12::1"] {
            assert!(!may_hand_out_keys(other.parse().expect("an address")), "{other}");
        }
    }

    proptest! {
        #[test]
        fn what_the_standard_library_calls_local_is_never_public(bits: u32, wide: u128) {
            let (v4, v6) = (Ipv4Addr::from_bits(bits), Ipv6Addr::from_bits(wide));
            if v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast()
                || v4.is_broadcast() || v4.is_documentation() || v4.is_unspecified()
            {
                prop_assert!(!is_public(v4.into()));
            }
            if v6.is_loopback() || v6.is_multicast() || v6.is_unique_local()
                || v6.is_unicast_link_local() || v6.is_unspecified()
            {
                prop_assert!(!is_public(v6.into()));
            }
            prop_assert!(!is_public(v4.to_ipv6_mapped().into()));
            prop_assert!(!is_public(v4.to_ipv6_compatible().into()));
        }
    }
}
