//! How much memory there is.

use std::fs;

/// Share of the machine's memory that queries may take, in percent.
const SHARE_PERCENT: usize = 80;

/// The default memory limit: 80 % of the machine's or of the control group's memory. `None` when
/// neither is known.
pub(crate) fn default_limit_bytes() -> Option<usize> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok()?.trim().parse::<usize>().ok());
    let bytes = machine.into_iter().chain(group).min()?;
    Some(bytes / 100 * SHARE_PERCENT)
}

/// `MemTotal` of the text of `/proc/meminfo`, in bytes.
fn total_of(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|it| it.strip_prefix("MemTotal:"))?;
    let kib = line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?;
    kib.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_s_memory_is_read_in_bytes() {
        assert_eq!(total_of("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total_of("nothing"), None);
    }
}
