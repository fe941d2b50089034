//! What the system's tables say about accounts: whether a group is this user's own, and whether an
//! owner is one that this user namespace cannot name.
//!
//! The tables are `/etc/passwd` and `/etc/group`. An account that stands in a directory service alone
//! has no group of its own here, which is the careful answer.

use std::path::Path;

use crate::file::read_bounded;

const MAX_TABLE_BYTES: u64 = 16 << 20;

/// Whether a group is this user's own: the user's primary group, which has the user's name or no
/// other members. The group of root is as good as root while it has no other members.
pub(crate) fn is_own_group(group: u32) -> bool {
    let tables = Tables { accounts: table("/etc/passwd"), groups: table("/etc/group") };
    let user = rustix::process::geteuid().as_raw();
    let effective = rustix::process::getegid().as_raw();
    tables.is_own(group, user, effective)
}

struct Tables {
    accounts: String,
    groups: String,
}

/// A line of `/etc/passwd`.
struct Account<'t> {
    name: &'t str,
    user: u32,
    group: u32,
}

impl Tables {
    fn accounts(&self) -> impl Iterator<Item = Account<'_>> {
        self.accounts.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let user = fields.nth(1)?.parse().ok()?;
            let group = fields.next()?.parse().ok()?;
            Some(Account { name, user, group })
        })
    }

    /// The name of a group and those of its members.
    fn group(&self, wanted: u32) -> Option<(&str, Vec<&str>)> {
        self.groups.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let [name, _, id, members] = fields.as_slice() else { return None };
            let members = members.split(',').map(str::trim).filter(|name| !name.is_empty());
            (id.parse() == Ok(wanted)).then(|| (*name, members.collect()))
        })
    }

    fn is_own(&self, group: u32, user: u32, effective: u32) -> bool {
        let account = self.accounts().find(|account| account.user == user);
        let primary = account.as_ref().map_or(effective, |account| account.group);
        if group != primary && group != 0 {
            return false;
        }
        let Some((name, members)) = self.group(group) else { return false };
        let own_name = account.as_ref().map(|account| account.name);
        if group == primary && own_name == Some(name) {
            return true;
        }
        let is_trusted = |account: &Account<'_>| account.user == user || account.user == 0;
        let trusted: Vec<&str> =
            self.accounts().filter(is_trusted).map(|account| account.name).collect();
        let others_have_it =
            self.accounts().any(|account| account.group == group && !is_trusted(&account));
        !others_have_it && members.iter().all(|member| trusted.contains(member))
    }
}

/// Whether an owner stands for one that this user namespace cannot name.
#[cfg(target_os = "linux")]
pub(crate) fn is_system_owner(owner: u32) -> bool {
    let overflow = table("/proc/sys/kernel/overflowuid").trim().parse().unwrap_or(65534);
    let map = table("/proc/self/uid_map");
    let whole = map.split_whitespace().collect::<Vec<_>>() == ["0", "0", "4294967295"];
    owner == overflow && !whole
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_system_owner(_: u32) -> bool {
    false
}

fn table(path: &str) -> String {
    let bytes = read_bounded(Path::new(path), MAX_TABLE_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> Tables {
        Tables {
            accounts: "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\n\
                       bob:x:1001:100::/:/bin/sh\ncid:x:1002:100::/:/bin/sh\n\
                       dan:x:1003:2000::/:/bin/sh\nbroken line\n"
                .to_owned(),
            groups:
                "root:x:0:\nann:x:1000:cid\nusers:x:100:\nteam:x:50:ann,bob\nalone:x:2000:dan\n"
                    .to_owned(),
        }
    }

    #[test]
    fn a_group_is_ones_own_by_its_name_or_by_having_no_one_else() {
        let tables = tables();
        let own = |group, user| tables.is_own(group, user, 9);
        assert!(own(1000, 1000), "named like the user, although it has another member");
        assert!(!own(1000, 1001) && !own(50, 1000), "not the primary group");
        assert!(!own(100, 1001), "two accounts have it as their primary group");
        assert!(own(2000, 1003), "no one else is in it");
        assert!(own(0, 0) && own(0, 1000), "root alone");
        assert!(!own(777, 1000) && !own(9, 4242), "a group or an account that no table has");
    }

    #[test]
    fn a_member_of_roots_group_is_one_of_the_others() {
        let groups = "root:x:0:ann\n".to_owned();
        let tables = Tables { groups, ..tables() };
        assert!(!tables.is_own(0, 1003, 2000));
        assert!(tables.is_own(0, 1000, 1000), "oneself is no other");
    }
}
