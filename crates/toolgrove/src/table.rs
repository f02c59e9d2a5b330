//! Tables that fit: columns are aligned, and where the terminal is too narrow the widest cells are cut with `…`.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const GAP: usize = 2;
/// No column is cut below this.
const NARROW: usize = 6;

/// Lays out rows under a head. Without a width nothing is cut.
pub(crate) fn lines(head: &[&str], rows: &[Vec<String>], width: Option<usize>) -> Vec<String> {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|it| plain(it)).collect()).collect();
    let mut widths: Vec<usize> = head.iter().map(|it| it.width()).collect();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            widths[column] = widths[column].max(cell.width());
        }
    }
    if let Some(width) = width {
        shrink(&mut widths, width);
    }
    let head: Vec<String> = head.iter().map(|it| (*it).to_owned()).collect();
    std::iter::once(&head).chain(&rows).map(|row| line(row, &widths, width)).collect()
}

/// One line of text from anywhere: no line ends, no control characters.
pub(crate) fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().map(|it| if it.is_control() { '\u{fffd}' } else { it }).collect()
}

fn shrink(widths: &mut [usize], width: usize) {
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        // Of equally wide columns the last is cut: names stand first, and matter more.
        let Some(widest) = (0..widths.len()).max_by_key(|it| widths[*it]) else { return };
        if widths[widest] <= NARROW {
            return;
        }
        widths[widest] -= 1;
    }
}

fn line(row: &[String], widths: &[usize], width: Option<usize>) -> String {
    let mut text = String::new();
    for (cell, width) in row.iter().zip(widths) {
        let cell = cut(cell, *width);
        text.push_str(&cell);
        text.extend(std::iter::repeat_n(' ', width + GAP - cell.width()));
    }
    let text = text.trim_end();
    width.map_or_else(|| text.to_owned(), |width| cut(text, width))
}

fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 0);
    for it in text.chars() {
        let wide = it.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        kept.push(it);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(width: Option<usize>, rows: &[[&str; 2]], expected: &Expect) {
        let rows: Vec<Vec<String>> = rows.iter().map(|it| it.map(Into::into).into()).collect();
        expected.assert_eq(&lines(&["NAME", "DESCRIPTION"], &rows, width).join("\n"));
    }

    #[test]
    fn a_table_is_as_wide_as_its_cells() {
        check(
            None,
            &[["a", "one"], ["longer", "two\n  lines"]],
            &expect![[r"
            NAME    DESCRIPTION
            a       one
            longer  two lines"]],
        );
    }

    #[test]
    fn the_widest_cells_are_cut() {
        check(
            Some(24),
            &[["mcp__a__b", "reads everything there is"], ["x", "天気を調べるための道具"]],
            &expect![[r"
            NAME       DESCRIPTION
            mcp__a__b  reads everyt…
            x          天気を調べる…"]],
        );
    }

    #[test]
    fn the_narrowest_terminal_gets_lines_that_do_not_wrap() {
        for line in lines(&["NAME", "DESCRIPTION"], &[vec!["n".repeat(50), "d".repeat(50)]], Some(10)) {
            assert!(line.width() <= 10, "{line}");
        }
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\tc"), "a\u{fffd}[31mb c");
    }
}
