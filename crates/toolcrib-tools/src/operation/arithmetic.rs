//! Evaluates arithmetic on exact fractions, so that `0.1 + 0.2` is `0.3`. A number that does not fit
//! into a fraction becomes floating point.

use std::fmt;

use serde_json::Value;

/// The most characters of an expression.
const MAX_EXPRESSION_CHARS: usize = 10_000;

/// The most levels that an expression may be nested.
const MAX_NESTING: usize = 200;

/// A number: a fraction in lowest terms with a positive denominator, or a float.
#[derive(Clone, Copy, Debug)]
enum Number {
    Exact(i128, i128),
    Float(f64),
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArithmeticError {
    /// The expression has more than [`MAX_EXPRESSION_CHARS`] characters.
    TooLong,
    /// The expression is nested deeper than [`MAX_NESTING`] levels.
    TooDeep,
    /// This character stands where an operator or the end should be.
    Unexpected(char),
    /// A parenthesis is not closed.
    Unclosed,
    /// A number is missing before this character, or at the end.
    MissingNumber(Option<char>),
    /// These digits and dots are not a number.
    NotNumber(String),
    /// The divisor is zero.
    DivisionByZero,
    /// The divisor of a remainder is zero.
    RemainderByZero,
    /// The value is infinite, or no real number.
    NotFinite,
}

impl fmt::Display for ArithmeticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "expression is over {MAX_EXPRESSION_CHARS} characters"),
            Self::TooDeep => write!(f, "expression is nested over {MAX_NESTING} levels"),
            Self::Unexpected(c) => write!(f, "unexpected `{c}` in expression"),
            Self::Unclosed => f.write_str("a `(` is not closed in expression"),
            Self::MissingNumber(Some(c)) => {
                write!(f, "a number is missing before `{c}` in expression")
            }
            Self::MissingNumber(None) => {
                f.write_str("a number is missing at the end of expression")
            }
            Self::NotNumber(digits) => write!(f, "`{digits}` is not a number"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::RemainderByZero => f.write_str("remainder by zero"),
            Self::NotFinite => f.write_str("the result is not a finite number"),
        }
    }
}

/// Returns the value of an expression of numbers, `+ - * / % ^` and parentheses.
pub(crate) fn evaluate(expression: &str) -> Result<Value, ArithmeticError> {
    if expression.chars().count() > MAX_EXPRESSION_CHARS {
        return Err(ArithmeticError::TooLong);
    }
    let mut parser = ExpressionParser { rest: expression, depth: 0 };
    let number = parser.sum()?;
    match parser.peek() {
        None => number.to_json(),
        Some(c) => Err(ArithmeticError::Unexpected(c)),
    }
}

/// A recursive-descent parser that evaluates as it reads.
struct ExpressionParser<'a> {
    rest: &'a str,
    depth: usize,
}

impl ExpressionParser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let c = self.peek().filter(|c| wanted.contains(c))?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn sum(&mut self) -> Result<Number, ArithmeticError> {
        let mut left = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let right = self.product()?;
            left = left.add(if sign == '-' { right.negate() } else { right });
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Number, ArithmeticError> {
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

    fn signed(&mut self) -> Result<Number, ArithmeticError> {
        let mut is_negative = false;
        while let Some(sign) = self.take(&['+', '-']) {
            is_negative ^= sign == '-';
        }
        let number = self.power()?;
        Ok(if is_negative { number.negate() } else { number })
    }

    fn power(&mut self) -> Result<Number, ArithmeticError> {
        let base = self.atom()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        self.nested(Self::signed).and_then(|exponent| base.power(exponent))
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Number, ArithmeticError>,
    ) -> Result<Number, ArithmeticError> {
        if self.depth >= MAX_NESTING {
            return Err(ArithmeticError::TooDeep);
        }
        self.depth += 1;
        let number = read(self);
        self.depth -= 1;
        number
    }

    fn atom(&mut self) -> Result<Number, ArithmeticError> {
        if self.take(&['(']).is_some() {
            let number = self.nested(Self::sum)?;
            return match self.take(&[')']) {
                Some(_) => Ok(number),
                None => Err(ArithmeticError::Unclosed),
            };
        }
        self.peek();
        let end =
            self.rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        if digits.is_empty() {
            return Err(ArithmeticError::MissingNumber(self.rest.chars().next()));
        }
        self.rest = rest;
        Number::parse(digits).ok_or_else(|| ArithmeticError::NotNumber(digits.to_owned()))
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

    /// Returns a fraction in lowest terms, or nothing if it does not fit into the integers.
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

    /// Combines two numbers as fractions, or as floats where the result does not fit into a fraction.
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

    fn divide(self, other: Self) -> Result<Self, ArithmeticError> {
        if other.is_zero() {
            return Err(ArithmeticError::DivisionByZero);
        }
        let exact = |a: i128, b: i128, c: i128, d: i128| {
            Self::fraction(a.checked_mul(d)?, b.checked_mul(c)?)
        };
        Ok(self.combine(other, exact, |a, b| a / b))
    }

    /// Returns the remainder, which has the sign of the dividend.
    fn remainder(self, other: Self) -> Result<Self, ArithmeticError> {
        if other.is_zero() {
            return Err(ArithmeticError::RemainderByZero);
        }
        let exact = |a: i128, b: i128, c: i128, d: i128| {
            let (left, right) = (a.checked_mul(d)?, c.checked_mul(b)?);
            Self::fraction(left.checked_rem(right)?, b.checked_mul(d)?)
        };
        Ok(self.combine(other, exact, |a, b| a % b))
    }

    fn power(self, exponent: Self) -> Result<Self, ArithmeticError> {
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
            Some((0, _, true)) => Err(ArithmeticError::DivisionByZero),
            Some((a, b, is_inverse)) => {
                let (a, b) = if is_inverse { (b, a) } else { (a, b) };
                Ok(Self::fraction(a, b).unwrap_or(Self::Float(a as f64 / b as f64)))
            }
            None => Ok(Self::Float(self.float().powf(exponent.float()))),
        }
    }

    fn to_json(self) -> Result<Value, ArithmeticError> {
        if let Self::Exact(numerator, 1) = self
            && let Ok(whole) = i64::try_from(numerator)
        {
            return Ok(Value::from(whole));
        }
        let float = self.float();
        serde_json::Number::from_f64(float).map(Value::Number).ok_or(ArithmeticError::NotFinite)
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
            let why = evaluate(expression).expect_err(expression).to_string();
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
            let why = evaluate(expression).expect_err(expression).to_string();
            assert!(why.contains(expect), "{expression}: {why}");
        }
    }
}
