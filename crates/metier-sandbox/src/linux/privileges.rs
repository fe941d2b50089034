//! Capabilities, the ban on gaining privileges, and being unseen by the confined process.
//!
//! Measured: as root under Landlock, `/proc/PID/environ` of the parent was readable until the
//! capabilities were gone. So they go in every tier, also inside a user namespace.

use std::io;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Signal};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs,
};

/// Capabilities known to no kernel yet end the loop over them; this is where it stops anyway.
const LAST_CAPABILITY: u32 = 63;

/// Drops every capability from every set, for good.
pub(super) fn drop_capabilities() -> io::Result<()> {
    let empty = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    if capabilities(None)?.effective.contains(CapabilitySet::SETPCAP) {
        // Root would get them back by executing a program, if these did not stop it.
        set_capabilities_secure_bits(
            CapabilitiesSecureBits::NO_ROOT
                | CapabilitiesSecureBits::NO_ROOT_LOCKED
                | CapabilitiesSecureBits::NO_SETUID_FIXUP
                | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
                | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
        )?;
        for number in 0..=LAST_CAPABILITY {
            let one = CapabilitySet::from_bits_retain(1 << number);
            match remove_capability_from_bounding_set(one) {
                Ok(()) => {}
                Err(Errno::INVAL) => break,
                Err(error) => return Err(error.into()),
            }
        }
    }
    clear_ambient_capability_set()?;
    set_capabilities(None, empty)?;
    let left = capabilities(None)?;
    if !(left.effective | left.permitted | left.inheritable).is_empty() {
        return Err(io::Error::other("capabilities are left"));
    }
    Ok(())
}

/// No program that is executed gives privileges any more.
pub(super) fn no_new_privileges() -> io::Result<()> {
    Ok(set_no_new_privs(true)?)
}

/// The confined process is of the same user; this keeps it from looking into the helper.
pub(super) fn hide_memory() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Kills this process when its parent dies.
pub(super) fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}
