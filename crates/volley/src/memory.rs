//! Determines the memory of the machine and of the process.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Share of the memory that queries may take, in percent.
const SHARE_PERCENT: usize = 80;

/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// The address space that is not available to queries if the process has a limit: the program,
/// stacks, and the reserve of the allocator. Half of the rest is lost if memory is released in
/// parts.
const ADDRESSES_OF_PROCESS: usize = 512 << 20;

/// The minimum number of bytes for queries.
const ADDRESSES_MIN: usize = 64 << 20;

/// The default memory limit: 80 % of what the machine and the process's control groups have, less
/// where its address space is limited (`ulimit`). `None` when nothing is known.
pub(crate) fn default_limit_bytes() -> Option<usize> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let machine = total_of(&read("/proc/meminfo"));
    let groups = group_limit(Path::new(GROUPS), &read("/proc/self/cgroup"));
    let memory = machine.into_iter().chain(groups).min().map(|it| it / 100 * SHARE_PERCENT);
    let addresses = limit_of(&read("/proc/self/limits"))
        .map(|it| (it.saturating_sub(ADDRESSES_OF_PROCESS) / 2).max(ADDRESSES_MIN));
    memory.into_iter().chain(addresses).min()
}

/// `MemTotal` of the text of `/proc/meminfo`, in bytes.
fn total_of(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|it| it.strip_prefix("MemTotal:"))?;
    let kib = line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?;
    kib.checked_mul(1 << 10)
}

/// The smallest soft limit on the address space of the text of `/proc/self/limits`.
fn limit_of(text: &str) -> Option<usize> {
    let limits = text.lines().filter_map(|line| {
        let names = ["Max address space", "Max data size"];
        let values = names.iter().find_map(|it| line.strip_prefix(it))?;
        values.split_whitespace().next()?.parse().ok()
    });
    limits.min()
}

/// The smallest limit of the control groups below `root` that the text of `/proc/self/cgroup`
/// lists, and of those that they are in.
fn group_limit(root: &Path, text: &str) -> Option<usize> {
    let files = text.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        // Of version 2, and of version 1, which has a tree per controller.
        let found = match controllers {
            "" => Some((PathBuf::new(), "memory.max")),
            _ if controllers.split(',').any(|it| it == "memory") => {
                Some((PathBuf::from("memory"), "memory.limit_in_bytes"))
            }
            _ => None,
        };
        let groups = Path::new(path).ancestors().map(|it| it.strip_prefix("/").unwrap_or(it));
        let files = found
            .into_iter()
            .flat_map(move |(tree, file)| groups.clone().map(move |it| tree.join(it).join(file)));
        files.collect::<Vec<_>>()
    });
    let limits = files.filter_map(|it| fs::read_to_string(root.join(it)).ok()?.trim().parse().ok());
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_s_memory_is_read_in_bytes() {
        assert_eq!(total_of("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total_of("nothing"), None);
    }

    #[test]
    fn limits_of_the_process_count() {
        let text = "Limit            Soft Limit    Hard Limit  Units\n\
            Max data size             unlimited            unlimited            bytes\n\
            Max address space         2147483648           unlimited            bytes\n";
        assert_eq!(limit_of(text), Some(2 << 30));
        assert_eq!(limit_of(&text.replace("2147483648", "unlimited ")), None);
    }

    #[test]
    fn limits_of_all_groups_above_count() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("memory.max", "max\n");
        write("a/memory.max", "1000\n");
        write("a/b/memory.max", "2000\n");
        write("memory/c/memory.limit_in_bytes", "3000\n");
        let limit = |text| group_limit(root.path(), text);
        assert_eq!(limit("0::/a/b\n"), Some(1000));
        assert_eq!(limit("0::/\n"), None);
        assert_eq!(limit("5:cpu,memory:/c\n4:cpuset:/a\n0::/none\n"), Some(3000));
        assert_eq!(limit("no group"), None);
        assert_eq!(limit(""), None);
    }
}
