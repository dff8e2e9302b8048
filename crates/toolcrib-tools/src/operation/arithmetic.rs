//! Arithmetic on exact fractions, so that `0.1 + 0.2` is `0.3`; numbers too large for that go on as
//! floating point.

use serde_json::Value;

/// The most characters an expression may have, and the deepest it may be nested.
const MAX_LENGTH: usize = 10_000;
const MAX_DEPTH: usize = 200;

/// A number: a fraction in lowest terms with a positive denominator, or a float.
#[derive(Clone, Copy, Debug)]
enum Number {
    Exact(i128, i128),
    Float(f64),
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) String);

/// Returns the value of an expression of numbers, `+ - * / % ^` and parentheses.
pub(crate) fn evaluate(expression: &str) -> Result<Value, Fault> {
    if expression.chars().count() > MAX_LENGTH {
        return Err(Fault(format!("expression is over {MAX_LENGTH} characters")));
    }
    let mut reader = Reader { rest: expression, depth: 0 };
    let number = reader.sum()?;
    match reader.peek() {
        None => number.to_json(),
        Some(c) => Err(Fault(format!("unexpected `{c}` in expression"))),
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let c = self.peek().filter(|c| wanted.contains(c))?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn sum(&mut self) -> Result<Number, Fault> {
        let mut left = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let right = self.product()?;
            left = left.add(if sign == '-' { right.negate() } else { right });
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Number, Fault> {
        let mut left = self.signed()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let right = self.signed()?;
            left = match sign {
                '*' => left.multiply(right),
                '/' => left.divide(right)?,
                _ => left.remainder(right)?,
            };
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Number, Fault> {
        let mut is_negative = false;
        while let Some(sign) = self.take(&['+', '-']) {
            is_negative ^= sign == '-';
        }
        let number = self.power()?;
        Ok(if is_negative { number.negate() } else { number })
    }

    fn power(&mut self) -> Result<Number, Fault> {
        let base = self.atom()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        self.nested(Self::signed).and_then(|exponent| base.power(exponent))
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Number, Fault>) -> Result<Number, Fault> {
        if self.depth >= MAX_DEPTH {
            return Err(Fault(format!("expression is nested over {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let number = read(self);
        self.depth -= 1;
        number
    }

    fn atom(&mut self) -> Result<Number, Fault> {
        if self.take(&['(']).is_some() {
            let number = self.nested(Self::sum)?;
            return match self.take(&[')']) {
                Some(_) => Ok(number),
                None => Err(Fault("a `(` is not closed in expression".to_owned())),
            };
        }
        self.peek();
        let end =
            self.rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        if digits.is_empty() {
            return Err(Fault(match self.rest.chars().next() {
                Some(c) => format!("a number is missing before `{c}` in expression"),
                None => "a number is missing at the end of expression".to_owned(),
            }));
        }
        self.rest = rest;
        Number::parse(digits).ok_or_else(|| Fault(format!("`{digits}` is not a number")))
    }
}

impl Number {
    fn parse(digits: &str) -> Option<Self> {
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && part.is_empty() || part.contains('.') {
            return None;
        }
        let exact = || {
            let numerator: i128 = format!("{whole}{part}").parse().ok()?;
            let denominator = 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
            Self::fraction(numerator, denominator)
        };
        exact().or_else(|| format!("0{whole}.{part}0").parse().ok().map(Self::Float))
    }

    /// Returns a fraction in lowest terms, or nothing if it does not fit.
    fn fraction(numerator: i128, denominator: i128) -> Option<Self> {
        let (mut a, mut b) = (numerator.unsigned_abs(), denominator.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = i128::try_from(a.max(1)).ok()?;
        let (numerator, denominator) = (numerator / divisor, denominator / divisor);
        if denominator < 0 {
            return Some(Self::Exact(numerator.checked_neg()?, denominator.checked_neg()?));
        }
        Some(Self::Exact(numerator, denominator))
    }

    fn float(self) -> f64 {
        match self {
            Self::Exact(numerator, denominator) => numerator as f64 / denominator as f64,
            Self::Float(float) => float,
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Exact(numerator, _) => numerator == 0,
            Self::Float(float) => float == 0.0,
        }
    }

    fn negate(self) -> Self {
        match self {
            Self::Exact(numerator, denominator) => numerator
                .checked_neg()
                .map_or(Self::Float(-self.float()), |negated| Self::Exact(negated, denominator)),
            Self::Float(float) => Self::Float(-float),
        }
    }

    /// Works on fractions, and on floats where a fraction would not fit.
    fn combine(
        self,
        other: Self,
        exact: impl Fn(i128, i128, i128, i128) -> Option<Self>,
        float: impl Fn(f64, f64) -> f64,
    ) -> Self {
        if let (Self::Exact(a, b), Self::Exact(c, d)) = (self, other)
            && let Some(number) = exact(a, b, c, d)
        {
            return number;
        }
        Self::Float(float(self.float(), other.float()))
    }

    fn add(self, other: Self) -> Self {
        let exact = |a: i128, b: i128, c: i128, d: i128| {
            let sum = a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?;
            Self::fraction(sum, b.checked_mul(d)?)
        };
        self.combine(other, exact, |a, b| a + b)
    }

    fn multiply(self, other: Self) -> Self {
        let exact = |a: i128, b: i128, c: i128, d: i128| {
            Self::fraction(a.checked_mul(c)?, b.checked_mul(d)?)
        };
        self.combine(other, exact, |a, b| a * b)
    }

    fn divide(self, other: Self) -> Result<Self, Fault> {
        if other.is_zero() {
            return Err(Fault("division by zero".to_owned()));
        }
        let exact = |a: i128, b: i128, c: i128, d: i128| {
            Self::fraction(a.checked_mul(d)?, b.checked_mul(c)?)
        };
        Ok(self.combine(other, exact, |a, b| a / b))
    }

    /// The remainder has the sign of the dividend.
    fn remainder(self, other: Self) -> Result<Self, Fault> {
        if other.is_zero() {
            return Err(Fault("remainder by zero".to_owned()));
        }
        let exact = |a: i128, b: i128, c: i128, d: i128| {
            let (left, right) = (a.checked_mul(d)?, c.checked_mul(b)?);
            Self::fraction(left.checked_rem(right)?, b.checked_mul(d)?)
        };
        Ok(self.combine(other, exact, |a, b| a % b))
    }

    fn power(self, exponent: Self) -> Result<Self, Fault> {
        let exact = match (self, exponent) {
            (Self::Exact(a, b), Self::Exact(times, 1)) => {
                let power = u32::try_from(times.unsigned_abs()).ok();
                power.and_then(|power| {
                    Some((a.checked_pow(power)?, b.checked_pow(power)?, times < 0))
                })
            }
            _ => None,
        };
        match exact {
            Some((0, _, true)) => Err(Fault("division by zero".to_owned())),
            Some((a, b, is_inverse)) => {
                let (a, b) = if is_inverse { (b, a) } else { (a, b) };
                Ok(Self::fraction(a, b).unwrap_or(Self::Float(a as f64 / b as f64)))
            }
            None => Ok(Self::Float(self.float().powf(exponent.float()))),
        }
    }

    fn to_json(self) -> Result<Value, Fault> {
        if let Self::Exact(numerator, 1) = self
            && let Ok(whole) = i64::try_from(numerator)
        {
            return Ok(Value::from(whole));
        }
        let float = self.float();
        serde_json::Number::from_f64(float)
            .map(Value::Number)
            .ok_or_else(|| Fault("the result is not a finite number".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expect: &str) {
        assert_eq!(evaluate(expression).unwrap().to_string(), expect, "{expression}");
    }

    #[test]
    fn results_are_what_a_person_expects() {
        check("2 + 2", "4");
        check("10 * (5 + 3)", "80");
        check("0.1 + 0.2", "0.3");
        check("1/3*3", "1");
        check("7 % 3", "1");
        check("-7 % 3", "-1");
        check("5.5 % 2", "1.5");
        check("2^3^2", "512");
        check("-2^2", "-4");
        check("2^-2", "0.25");
        check("2^0.5", "1.4142135623730951");
        check("1.10 + 2.20", "3.3");
        check("--3 - -2", "5");
        check(".5 + 5.", "5.5");
        check("2^62", "4611686018427387904");
        check("2^100", "1.2676506002282294e+30");
    }

    #[test]
    fn what_has_no_value_says_why() {
        for (expression, expect) in [
            ("1/0", "division by zero"),
            ("0^-1", "division by zero"),
            ("5 % 0", "remainder by zero"),
            ("9^9^9^9", "not a finite number"),
            ("(-8)^0.5", "not a finite number"),
        ] {
            let Err(Fault(why)) = evaluate(expression) else { panic!("{expression}") };
            assert!(why.contains(expect), "{expression}: {why}");
        }
        for (expression, expect) in [
            ("", "missing at the end"),
            ("2 +", "missing at the end"),
            ("2 2", "unexpected `2`"),
            ("(1", "not closed"),
            ("1)", "unexpected `)`"),
            ("1.2.3", "not a number"),
            ("*2", "missing before `*`"),
            (&"(".repeat(5000), "nested over"),
            (&"2^".repeat(4999), "nested over"),
            (&"1+".repeat(9000), "over 10000 characters"),
        ] {
            let Err(Fault(why)) = evaluate(expression) else { panic!("{expression}") };
            assert!(why.contains(expect), "{expression}: {why}");
        }
    }
}
