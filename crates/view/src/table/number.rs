//! Numbers of tables: exact, and said in units.

use pathlight_base::format;
use std::cmp::Ordering;

/// A number of a row. Whole numbers stay exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// There is none: a dash, an empty field, the smallest of all.
    None,
    /// A count, or whole microseconds.
    Whole(u128),
    /// A mean, a share, a difference.
    Real(f64),
}

impl Number {
    /// Returns the number as a float; NaN for none.
    pub fn real(self) -> f64 {
        match self {
            Number::None => f64::NAN,
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
        }
    }

    /// Returns the number with all of its digits; nothing for none.
    pub fn digits(self) -> String {
        match self {
            Number::None => String::new(),
            Number::Whole(value) => value.to_string(),
            Number::Real(value) => value.to_string(),
        }
    }

    pub(crate) fn compare(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::None, Number::None) => Ordering::Equal,
            (Number::None, _) => Ordering::Less,
            (_, Number::None) => Ordering::Greater,
            (Number::Whole(a), Number::Whole(b)) => a.cmp(&b),
            // Adding zero makes one of both zeros.
            (a, b) => (a.real() + 0.0).total_cmp(&(b.real() + 0.0)),
        }
    }
}

impl From<u128> for Number {
    fn from(value: u128) -> Number {
        Number::Whole(value)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number::Whole(value.into())
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Number {
        Number::Whole(value.into())
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Number {
        Number::Whole(value as u128)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number::Real(value)
    }
}

impl<T: Into<Number>> From<Option<T>> for Number {
    fn from(value: Option<T>) -> Number {
        value.map_or(Number::None, Into::into)
    }
}

/// Unit of a number, which decides its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count in full.
    Count,
    /// Microseconds, as a duration.
    Duration,
    /// Microseconds with their sign, as a difference of durations.
    Change,
    /// Microseconds since 1970, as date and time to the millisecond.
    Moment,
    /// A share of 1, in percent.
    Share,
}

impl Unit {
    /// Returns the number in words; a dash for none.
    pub fn words(self, number: Number) -> String {
        match (self, number) {
            (_, Number::None) => format::DASH.to_owned(),
            // No count is of 65 bits.
            (Unit::Count, Number::Whole(value)) => format::count(value as u64),
            (Unit::Count, Number::Real(value)) => format::number(value),
            (Unit::Moment, Number::Whole(us)) => format::moment(us as u64 / 1000 * 1000),
            (Unit::Moment, Number::Real(us)) => format::moment(us as u64 / 1000 * 1000),
            (Unit::Duration, _) => format::duration(number.real()),
            (Unit::Change, _) => format::change(number.real()),
            (Unit::Share, _) => format::share(number.real()),
        }
    }
}
