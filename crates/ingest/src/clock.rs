//! The clock of a format, and the unit in which its times stand.

use crate::json::node::{Bad, Node, Number};

/// How a format writes its times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// Numbers of microseconds since 1970.
    Micros,
    /// Numbers of nanoseconds since 1970, perhaps as decimal text.
    Nanos,
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
    pub fn others(clock: Clock) -> [Unit; 3] {
        let unit = |power, name| Unit { clock, power, name };
        match clock {
            Clock::Nanos => [unit(9, "seconds"), unit(6, "milliseconds"), unit(3, "microseconds")],
            _ => [unit(6, "seconds"), unit(3, "milliseconds"), unit(-3, "nanoseconds")],
        }
    }
}

impl Clock {
    /// Returns the number that a time is, `None` if that is not known; an error if no time can be written so.
    pub fn number(self, value: Node<'_>) -> Result<Result<Option<f64>, ()>, Bad> {
        if let Some(text) = value.string()? {
            return Ok(match self {
                Clock::Micros => Err(()),
                Clock::Nanos => match text.text.trim() {
                    "" => Ok(None),
                    text => text.parse().map(|ns: f64| Some(ns).filter(|&ns| ns >= 0.0)).map_err(|_| ()),
                },
                Clock::Plain => Ok(None),
            });
        }
        Ok(match value.number()? {
            Some(Number::Whole(number)) => Ok(Some(number as f64)),
            Some(Number::Float(number)) => Ok(Some(number)),
            Some(Number::Negative | Number::Huge) => Ok(None),
            None => Err(()),
        })
    }
}
