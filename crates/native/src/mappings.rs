//! Which mappings of a process may be dropped, by what `/proc/self/smaps` says of them.

use std::ops::Range;

/// The mappings of the file that `address` is from in which every page is as the file has it: private, not writable,
/// and without a page that was written to earlier, as the loader does with some before it makes them read-only.
pub(crate) fn unchanged(smaps: &str, address: usize) -> Vec<Range<usize>> {
    let mappings: Vec<Mapping<'_>> = mappings(smaps);
    let Some(program) = mappings.iter().find(|it| it.range.contains(&address)).map(|it| it.file) else {
        return Vec::new();
    };
    let is_ours = |it: &&Mapping<'_>| it.file == program && it.file.is_some() && it.is_unchanged();
    mappings.iter().filter(is_ours).map(|it| it.range.clone()).collect()
}

struct Mapping<'a> {
    range: Range<usize>,
    permissions: &'a str,
    /// Device, number and path; `None` if it is not a file's.
    file: Option<(&'a str, &'a str, &'a str)>,
    /// KiB in pages that are no longer the file's; `None` if that was not said.
    anonymous: Option<u64>,
}

impl Mapping<'_> {
    fn is_unchanged(&self) -> bool {
        let is_private = self.permissions.ends_with('p');
        is_private && !self.permissions.contains('w') && self.anonymous == Some(0)
    }
}

fn mappings(smaps: &str) -> Vec<Mapping<'_>> {
    let mut found: Vec<Mapping<'_>> = Vec::new();
    for line in smaps.lines() {
        if let Some(mapping) = head(line) {
            found.push(mapping);
        } else if let (Some(size), Some(mapping)) = (line.strip_prefix("Anonymous:"), found.last_mut()) {
            mapping.anonymous = size.trim().strip_suffix(" kB").and_then(|it| it.parse().ok());
        }
    }
    found
}

/// `559c0000-559c9000 r-xp 00001000 fe:00 1234    /usr/bin/toolgrove`
fn head(line: &str) -> Option<Mapping<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
    let mut words = rest.splitn(5, ' ');
    let (permissions, _offset) = (words.next()?, words.next()?);
    let (device, number) = (words.next()?, words.next()?);
    let path = words.next().unwrap_or_default().trim_start();
    let file = (number != "0").then_some((device, number, path));
    Some(Mapping { range, permissions, file, anonymous: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "fe:00 4711                       /opt/tool grove (deleted)";

    #[track_caller]
    fn check(mappings: &[(&str, &str)], expected: &[Range<usize>]) {
        let rest = "Size:     64 kB\nRss:      64 kB";
        let one = |(head, anonymous): &(&str, &str)| {
            [*head, rest, *anonymous, "VmFlags: rd ex mr mw me"].join("\n")
        };
        let text = mappings.iter().map(one).collect::<Vec<_>>().join("\n");
        assert_eq!(unchanged(&text, 0x2800), expected, "{text}");
    }

    #[test]
    fn of_the_program_that_is_what_cannot_be_written_to_and_never_was() {
        check(
            &[
                (&format!("1000-2000 r--p 00000000 {PROGRAM}"), "Anonymous:         0 kB"),
                (&format!("2000-3000 r-xp 00001000 {PROGRAM}"), "Anonymous:         0 kB"),
                (&format!("3000-4000 r--p 00002000 {PROGRAM}"), "Anonymous:       876 kB"),
                (&format!("4000-5000 rw-p 00003000 {PROGRAM}"), "Anonymous:         0 kB"),
                (&format!("5000-6000 r--s 00000000 {PROGRAM}"), "Anonymous:         0 kB"),
                ("6000-7000 rw-p 00000000 00:00 0                  [heap]", "Anonymous:         0 kB"),
                ("7000-8000 r-xp 00000000 fe:00 4712               /lib/libc.so.6", "Anonymous: 0 kB"),
                ("8000-9000 r-xp 00000000 00:00 0                  [vdso]", "Anonymous:         0 kB"),
            ],
            &[0x1000..0x2000, 0x2000..0x3000],
        );
    }

    #[test]
    fn code_with_a_breakpoint_stays_as_does_what_the_kernel_says_nothing_of() {
        check(&[(&format!("2000-3000 r-xp 00001000 {PROGRAM}"), "Anonymous:         4 kB")], &[]);
        check(&[(&format!("2000-3000 r-xp 00001000 {PROGRAM}"), "Swap:              0 kB")], &[]);
    }

    #[test]
    fn code_that_is_of_no_file_stays() {
        check(&[("2000-3000 r-xp 00000000 00:00 0 ", "Anonymous:         0 kB")], &[]);
        check(&[("9000-a000 r-xp 00000000 fe:00 4711               /opt/toolgrove", "Anonymous: 0 kB")], &[]);
    }
}
