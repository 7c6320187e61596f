//! The clock of a format, and the unit in which its times stand.

use crate::json::node::{Bad, Node, Number};

/// How a format writes its times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// Numbers of microseconds since 1970.
    Micros,
    /// Numbers of nanoseconds since 1970, perhaps as decimal text.
    Nanos,
    /// Numbers since 1970 in a unit that a table says, as the power of ten that makes seconds of them.
    Rows(i8),
    /// Something else, in which no other unit could stand.
    Plain,
}

/// A unit in which the times of an input stand, if it is not the one of their format.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Unit {
    pub clock: Clock,
    /// A number times ten to this power is in the unit of the format.
    pub power: i32,
    /// What the unit is called.
    pub name: &'static str,
}

impl Unit {
    /// Returns the units that a clock may be in by mistake.
    pub fn others(clock: Clock) -> impl Iterator<Item = Unit> {
        let own = clock.power();
        NAMES.into_iter().filter(move |of| of.1 != own).map(move |(name, power)| Unit {
            clock,
            power: power - own,
            name,
        })
    }
}

/// The units, with the power of ten that makes seconds of them.
const NAMES: [(&str, i32); 4] =
    [("seconds", 0), ("milliseconds", -3), ("microseconds", -6), ("nanoseconds", -9)];

impl Clock {
    /// Returns the power of ten that makes seconds of its numbers.
    pub fn power(self) -> i32 {
        match self {
            Clock::Nanos => -9,
            Clock::Rows(power) => power.into(),
            Clock::Micros | Clock::Plain => -6,
        }
    }

    /// Returns what its unit is called.
    pub fn unit_name(self) -> &'static str {
        NAMES.iter().find(|of| of.1 == self.power()).map_or("microseconds", |of| of.0)
    }

    /// Returns the number that a time is, `None` if that is not known; an error if no time can be written so.
    pub fn number(self, value: Node<'_>) -> Result<Result<Option<f64>, ()>, Bad> {
        if let Some(text) = value.string()? {
            return Ok(match self {
                Clock::Micros => Err(()),
                Clock::Nanos => match text.text.trim() {
                    "" => Ok(None),
                    text => text.parse().map(|ns: f64| Some(ns).filter(|&ns| ns >= 0.0)).map_err(|_| ()),
                },
                Clock::Rows(_) | Clock::Plain => Ok(None),
            });
        }
        let number = match self {
            Clock::Nanos if value.is_object() => halves(value)?,
            _ => value.number()?,
        };
        Ok(match number {
            Some(Number::Whole(number)) => Ok(Some(number as f64)),
            Some(Number::Float(number)) => Ok(Some(number)),
            Some(Number::Negative | Number::Huge) => Ok(None),
            None => Err(()),
        })
    }
}

/// Returns the number that an object says: `{low, high}`, the halves of 64 bits.
pub(crate) fn halves(node: Node<'_>) -> Result<Option<Number>, Bad> {
    let [low, high] = node.pick(["low", "high"])?;
    let (Some(low), Some(high)) = (low, high) else { return Ok(None) };
    let half = |node: Node<'_>| std::str::from_utf8(node.text).ok()?.parse::<i64>().ok();
    let whole = half(low).zip(half(high)).map(|(low, high)| (high as u64) << 32 | low as u64 & 0xffff_ffff);
    Ok(whole.map(Number::Whole))
}
