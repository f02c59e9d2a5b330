//! Works out an expression. Numbers are doubles, shown with fifteen digits at most.

use std::iter::Peekable;
use std::str::Chars;

/// Longer or deeper ones are nobody's sums.
const LONGEST: usize = 2_000;
const DEEPEST: usize = 64;

/// The value of an expression as people write it, or what is wrong with it in one sentence.
pub fn calculate(expression: &str) -> Result<String, String> {
    if expression.chars().nth(LONGEST).is_some() {
        return Err(format!("an expression has at most {LONGEST} characters"));
    }
    let mut sum = Sum { rest: expression.chars().peekable(), depth: 0 };
    let value = sum.terms()?;
    match sum.peek() {
        Some(left) => Err(format!("`{left}` is one too many")),
        None if value.is_finite() => Ok(shown(value)),
        None => Err("the result is not a number".into()),
    }
}

/// What doubles cannot know is not shown: 0.1 + 0.2 is 0.3.
fn shown(value: f64) -> String {
    const EXACT: f64 = 1e15;
    if value == 0.0 {
        return "0".into();
    }
    if value.fract() == 0.0 && value.abs() < EXACT {
        return value.to_string();
    }
    let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    if (1e-6..EXACT).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

struct Sum<'a> {
    rest: Peekable<Chars<'a>>,
    depth: usize,
}

impl Sum<'_> {
    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        while self.rest.next_if(|it| it.is_whitespace()).is_some() {}
        self.rest.peek().copied()
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let next = self.peek().filter(|it| wanted.contains(it))?;
        self.rest.next();
        Some(next)
    }

    fn terms(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("parentheses go at most {DEEPEST} deep"));
        }
        let mut value = self.factors()?;
        while let Some(sign) = self.take(&['+', '-', '−']) {
            let other = self.factors()?;
            value = if sign == '+' { value + other } else { value - other };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn factors(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        while let Some(sign) = self.take(&['*', '×', '·', '/', '÷', '%']) {
            let other = self.signed()?;
            value = match sign {
                '*' | '×' | '·' => value * other,
                _ if other == 0.0 => return Err("nothing can be divided by zero".into()),
                '%' => value % other,
                _ => value / other,
            };
        }
        Ok(value)
    }

    /// Signs bind less than powers: -2^2 is -4.
    fn signed(&mut self) -> Result<f64, String> {
        let mut is_negative = false;
        while let Some(sign) = self.take(&['+', '-', '−']) {
            is_negative ^= sign != '+';
        }
        let value = self.power()?;
        Ok(if is_negative { -value } else { value })
    }

    /// From right to left: 2^3^2 is 512.
    fn power(&mut self) -> Result<f64, String> {
        let base = self.atom()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("powers go at most {DEEPEST} deep"));
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(base.powf(exponent))
    }

    fn atom(&mut self) -> Result<f64, String> {
        match self.peek() {
            Some('(') => {
                self.rest.next();
                let value = self.terms()?;
                self.close()?;
                Ok(value)
            }
            Some(it) if it.is_ascii_digit() || it == '.' => self.number(),
            Some(it) if it.is_alphabetic() => self.named(),
            Some(it) => Err(format!("`{it}` stands where a number should be")),
            None => Err("a number is missing at the end".into()),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        self.take(&[')']).map(drop).ok_or_else(|| "a `)` is missing".into())
    }

    fn number(&mut self) -> Result<f64, String> {
        let mut text = String::new();
        while let Some(it) = self.rest.next_if(|it| it.is_ascii_digit() || matches!(it, '.' | '_')) {
            text.extend((it != '_').then_some(it));
        }
        if let Some(it) = self.rest.next_if(|it| matches!(it, 'e' | 'E')) {
            text.push(it);
            text.extend(self.rest.next_if(|it| matches!(it, '+' | '-')));
            while let Some(it) = self.rest.next_if(char::is_ascii_digit) {
                text.push(it);
            }
        }
        text.parse().map_err(|_| format!("`{text}` is not a number"))
    }

    fn named(&mut self) -> Result<f64, String> {
        let mut name = String::new();
        while let Some(it) = self.rest.next_if(|it| it.is_alphanumeric()) {
            name.extend(it.to_lowercase());
        }
        if self.take(&['(']).is_none() {
            return match name.as_str() {
                "pi" | "π" => Ok(std::f64::consts::PI),
                "e" => Ok(std::f64::consts::E),
                _ => Err(format!("`{name}` is not known")),
            };
        }
        let mut given = vec![self.terms()?];
        while self.take(&[',', ';']).is_some() {
            given.push(self.terms()?);
        }
        self.close()?;
        applied(&name, &given)
    }
}

fn applied(name: &str, given: &[f64]) -> Result<f64, String> {
    let one: fn(f64) -> f64 = match name {
        "min" => return Ok(given.iter().copied().fold(f64::INFINITY, f64::min)),
        "max" => return Ok(given.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        "sqrt" => f64::sqrt,
        "abs" => f64::abs,
        "exp" => f64::exp,
        "ln" => f64::ln,
        "log" => f64::log10,
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "atan" => f64::atan,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "round" => f64::round,
        _ => return Err(format!("`{name}` is not known")),
    };
    match given {
        [value] => Ok(one(*value)),
        _ => Err(format!("`{name}` takes one number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: &str) {
        let found = calculate(expression).unwrap_or_else(|problem| format!("error: {problem}"));
        assert_eq!(found, expected, "{expression}");
    }

    #[test]
    fn sums_come_out_as_people_expect() {
        for (expression, expected) in [
            ("1+2*3", "7"),
            ("2 * (3 + 4)^2", "98"),
            ("0.1 + 0.2", "0.3"),
            ("-2^2", "-4"),
            ("2^-1", "0.5"),
            ("2^3^2", "512"),
            ("10 % 4", "2"),
            ("1/3", "0.333333333333333"),
            ("1e3 + 1_000", "2000"),
            ("6 ÷ 2 × 3 − 1", "8"),
            ("max(1, 2, 3) - min(4; 5)", "-1"),
            ("sqrt(2)^2", "2"),
            ("ROUND(2.5) + abs(-1)", "4"),
            ("log(1000) + ln(e)", "4"),
            ("cos(pi)", "-1"),
            ("--1", "1"),
            ("0 * -1", "0"),
            ("2^100", "1.26765060022823e30"),
            ("1 / 2^40", "9.09494701772928e-13"),
        ] {
            check(expression, expected);
        }
    }

    #[test]
    fn what_is_no_sum_says_why() {
        let deep = "(".repeat(1000);
        let powers = "2^".repeat(500);
        let long = "1+".repeat(2000);
        for (expression, expected) in [
            ("", "error: a number is missing at the end"),
            ("1 +", "error: a number is missing at the end"),
            ("1 2", "error: `2` is one too many"),
            ("(1", "error: a `)` is missing"),
            ("1)", "error: `)` is one too many"),
            ("1/0", "error: nothing can be divided by zero"),
            ("1 % 0", "error: nothing can be divided by zero"),
            ("sqrt(-1)", "error: the result is not a number"),
            ("10^400", "error: the result is not a number"),
            ("system('ls')", "error: `'` stands where a number should be"),
            ("foo(1)", "error: `foo` is not known"),
            ("x", "error: `x` is not known"),
            ("sin(1, 2)", "error: `sin` takes one number"),
            ("1.2.3", "error: `1.2.3` is not a number"),
            ("1e", "error: `1e` is not a number"),
            (&deep, "error: parentheses go at most 64 deep"),
            (&powers, "error: powers go at most 64 deep"),
            (&long, "error: an expression has at most 2000 characters"),
        ] {
            check(expression, expected);
        }
    }
}
