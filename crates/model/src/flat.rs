//! Values as bytes: messages between workers, summaries, models and saved columns.
//!
//! The format is postcard's, of which files in use were made: integers of more than a byte as varints (signed ones in
//! zigzag), a length before texts and lists, the number of the variant before an enum, fields without names. What reads and
//! writes it stands here because of its size in the page: a derived `Deserialize` is mostly the ways out after an error, one
//! a field, each dropping what came before. Here [`Error`](de::Deserializer::Error) has no value, so the compiler leaves
//! them all away: after the end of the bytes everything reads as zero or empty, and only [`read`] tells.

use serde::{Deserialize, Serialize, de, ser};
use std::cell::Cell;
use std::fmt;

/// The bytes are no such value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("its bytes are cut or changed")]
pub struct Damaged;

/// Writes a value as bytes.
pub fn write<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    write_after(Vec::new(), value)
}

/// Writes a value after some bytes.
pub fn write_after<T: Serialize + ?Sized>(bytes: Vec<u8>, value: &T) -> Vec<u8> {
    let mut out = Writer(bytes);
    let Ok(()) = value.serialize(&mut out);
    out.0
}

/// Returns the value that [`write()`] wrote; what follows it is ignored.
///
/// # Errors
/// [`Damaged`] unless the bytes are such a value.
pub fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Damaged> {
    DAMAGED.set(false);
    let Ok(value) = T::deserialize(&mut Reader(bytes));
    if DAMAGED.get() { Err(Damaged) } else { Ok(value) }
}

thread_local! {
    /// Whether what is being read turned out to be no value of its type.
    static DAMAGED: Cell<bool> = const { Cell::new(false) };
}

/// Marks what is read as damaged, for a `Deserialize` of its own that meets what cannot be: it goes on with any value,
/// which [`read`] will not return.
#[cold]
pub fn damaged() {
    DAMAGED.set(true);
}

/// The error that nothing gives.
#[derive(Debug)]
pub enum Never {}

impl fmt::Display for Never {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Never {}

/// Returns where a value would refuse what it is given, which none does that is written and read here: the numbers of
/// variants are looked at before, and a type with rules of its own calls [`damaged`].
#[cold]
#[inline(never)]
fn refused() -> ! {
    panic!("a type whose values serde refuses cannot be written or read as bytes")
}

impl de::Error for Never {
    fn custom<T: fmt::Display>(_: T) -> Never {
        refused()
    }

    fn invalid_type(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Never {
        refused()
    }

    fn invalid_value(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Never {
        refused()
    }

    fn invalid_length(_: usize, _: &dyn de::Expected) -> Never {
        refused()
    }
}

impl ser::Error for Never {
    fn custom<T: fmt::Display>(_: T) -> Never {
        refused()
    }
}

struct Writer(Vec<u8>);

impl Writer {
    #[inline(never)]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Writes an id: two numbers would do, were it not for what is written already.
    #[inline(never)]
    fn wide(&mut self, mut number: u128) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63) as u64);
    }

    #[inline(never)]
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Writes the length of a list, which iterators over what is stored know.
    fn length(&mut self, length: Option<usize>) {
        let Some(length) = length else { refused() };
        self.number(length as u64);
    }
}

/// Methods that write a value by converting it for another method.
macro_rules! writes {
    ($($method:ident($type:ty): |$out:ident, $value:ident| $write:expr;)*) => {
        $(#[inline(always)]
        fn $method(self, $value: $type) -> Result<(), Never> {
            let $out = self;
            $write;
            Ok(())
        })*
    };
}

impl ser::Serializer for &mut Writer {
    type Ok = ();
    type Error = Never;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    writes! {
        serialize_bool(bool): |out, value| out.0.push(u8::from(value));
        serialize_u8(u8): |out, value| out.0.push(value);
        serialize_u16(u16): |out, value| out.number(value.into());
        serialize_u32(u32): |out, value| out.number(value.into());
        serialize_u64(u64): |out, value| out.number(value);
        serialize_u128(u128): |out, value| out.wide(value);
        serialize_i8(i8): |out, value| out.0.push(value as u8);
        serialize_i16(i16): |out, value| out.signed(value.into());
        serialize_i32(i32): |out, value| out.signed(value.into());
        serialize_i64(i64): |out, value| out.signed(value);
        serialize_f32(f32): |out, value| out.0.extend_from_slice(&value.to_le_bytes());
        serialize_f64(f64): |out, value| out.0.extend_from_slice(&value.to_le_bytes());
        serialize_char(char): |out, value| out.bytes(value.encode_utf8(&mut [0; 4]).as_bytes());
        serialize_str(&str): |out, value| out.bytes(value.as_bytes());
        serialize_bytes(&[u8]): |out, value| out.bytes(value);
    }

    #[inline(always)]
    fn serialize_none(self) -> Result<(), Never> {
        self.serialize_u8(0)
    }

    #[inline(always)]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Never> {
        self.0.push(1);
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_unit(self) -> Result<(), Never> {
        Ok(())
    }

    #[inline(always)]
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Never> {
        Ok(())
    }

    #[inline(always)]
    fn serialize_unit_variant(self, _: &'static str, number: u32, _: &'static str) -> Result<(), Never> {
        self.serialize_u32(number)
    }

    #[inline(always)]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        self.number(number.into());
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Never> {
        self.length(length);
        Ok(self)
    }

    #[inline(always)]
    fn serialize_tuple(self, _: usize) -> Result<Self, Never> {
        Ok(self)
    }

    #[inline(always)]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Never> {
        Ok(self)
    }

    #[inline(always)]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Never> {
        self.number(number.into());
        Ok(self)
    }

    #[inline(always)]
    fn serialize_map(self, length: Option<usize>) -> Result<Self, Never> {
        self.length(length);
        Ok(self)
    }

    #[inline(always)]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Never> {
        Ok(self)
    }

    #[inline(always)]
    fn serialize_struct_variant(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Never> {
        self.number(number.into());
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// What writes one part of a list, tuple, struct or map after the other: each just follows.
macro_rules! follows {
    ($($trait:ident::$method:ident($($key:ident: $key_type:ty)?) {$($more:item)*})*) => {
        $(impl ser::$trait for &mut Writer {
            type Ok = ();
            type Error = Never;

            #[inline(always)]
            fn $method<T: Serialize + ?Sized>(&mut self, $($key: $key_type,)? value: &T) -> Result<(), Never> {
                value.serialize(&mut **self)
            }

            $($more)*

            #[inline(always)]
            fn end(self) -> Result<(), Never> {
                Ok(())
            }
        })*
    };
}

follows! {
    SerializeSeq::serialize_element() {}
    SerializeTuple::serialize_element() {}
    SerializeTupleStruct::serialize_field() {}
    SerializeTupleVariant::serialize_field() {}
    SerializeMap::serialize_key() {
        #[inline(always)]
        fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Never> {
            value.serialize(&mut **self)
        }
    }
    SerializeStruct::serialize_field(_key: &'static str) {
        // What JSON leaves out is nothing, empty or the first of its kind, and each of those is this byte.
        #[inline(always)]
        fn skip_field(&mut self, _: &'static str) -> Result<(), Never> {
            self.0.push(0);
            Ok(())
        }
    }
    SerializeStructVariant::serialize_field(_key: &'static str) {}
}

/// The bytes not yet read; none after something odd.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[cold]
    #[inline(never)]
    fn fail(&mut self) {
        damaged();
        self.0 = &[];
    }

    #[inline(never)]
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => {
                self.fail();
                0
            }
        }
    }

    /// Returns a number of at most so many bits.
    #[inline(never)]
    fn number(&mut self, bits: u32) -> u64 {
        let mut number = 0;
        for shift in (0..bits).step_by(7) {
            let byte = u64::from(self.byte());
            let low = byte & 0x7f;
            if bits - shift < 7 && low >> (bits - shift) != 0 {
                break;
            }
            number |= low << shift;
            if byte == low {
                return number;
            }
        }
        self.fail();
        0
    }

    #[inline(never)]
    fn wide(&mut self) -> u128 {
        let mut number = 0;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = u128::from(self.byte());
            let low = byte & 0x7f;
            number |= low << shift;
            if low << shift >> shift != low {
                break;
            }
            if byte == low {
                return number;
            }
        }
        self.fail();
        0
    }

    fn signed(&mut self, bits: u32) -> i64 {
        let number = self.number(bits);
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    #[inline(never)]
    fn take(&mut self, length: usize) -> &'a [u8] {
        match self.0.split_at_checked(length) {
            Some((taken, rest)) => {
                self.0 = rest;
                taken
            }
            None => {
                self.fail();
                &[]
            }
        }
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().unwrap_or([0; N])
    }

    fn length(&mut self) -> usize {
        self.number(usize::BITS) as usize
    }

    #[inline(never)]
    fn bytes(&mut self) -> &'a [u8] {
        let length = self.length();
        self.take(length)
    }

    /// Returns the number of a variant.
    #[inline(never)]
    fn variant(&mut self, most: u32) -> u32 {
        let number = self.number(32) as u32;
        if number > most {
            self.fail();
            return 0;
        }
        number
    }

    fn letter(&mut self) -> char {
        let text = self.text();
        text.chars().next().filter(|_| text.len() <= 4).unwrap_or_else(|| {
            self.fail();
            char::default()
        })
    }

    #[inline(never)]
    fn text(&mut self) -> &'a str {
        str::from_utf8(self.bytes()).unwrap_or_else(|_| {
            self.fail();
            ""
        })
    }
}

/// Methods that read a value and show it to a visitor.
macro_rules! reads {
    ($($method:ident: $visit:ident(|$bytes:ident| $read:expr);)*) => {
        $(#[inline(always)]
        fn $method<V: de::Visitor<'a>>(self, visitor: V) -> Result<V::Value, Never> {
            let $bytes = self;
            visitor.$visit($read)
        })*
    };
}

impl<'a> de::Deserializer<'a> for &mut Reader<'a> {
    type Error = Never;

    reads! {
        deserialize_bool: visit_bool(|bytes| bytes.number(1) == 1);
        deserialize_u8: visit_u8(|bytes| bytes.byte());
        deserialize_u16: visit_u16(|bytes| bytes.number(16) as u16);
        deserialize_u32: visit_u32(|bytes| bytes.number(32) as u32);
        deserialize_i8: visit_i8(|bytes| bytes.byte() as i8);
        deserialize_i16: visit_i16(|bytes| bytes.signed(16) as i16);
        deserialize_i32: visit_i32(|bytes| bytes.signed(32) as i32);
        deserialize_u128: visit_u128(|bytes| bytes.wide());
        deserialize_i64: visit_i64(|bytes| bytes.signed(64));
        deserialize_f32: visit_f32(|bytes| f32::from_le_bytes(bytes.array()));
        deserialize_f64: visit_f64(|bytes| f64::from_le_bytes(bytes.array()));
        deserialize_char: visit_char(|bytes| bytes.letter());
        deserialize_str: visit_borrowed_str(|bytes| bytes.text());
        deserialize_string: visit_borrowed_str(|bytes| bytes.text());
        deserialize_bytes: visit_borrowed_bytes(|bytes| bytes.bytes());
        deserialize_byte_buf: visit_borrowed_bytes(|bytes| bytes.bytes());
    }

    /// Reads `usize` too, which has 32 bits in the page.
    #[inline(always)]
    fn deserialize_u64<V: de::Visitor<'a>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_u64(self.number(if size_of::<V::Value>() == 4 { 32 } else { 64 }))
    }

    #[inline(always)]
    fn deserialize_option<V: de::Visitor<'a>>(self, visitor: V) -> Result<V::Value, Never> {
        if self.number(1) == 1 { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    #[inline(always)]
    fn deserialize_unit<V: de::Visitor<'a>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_unit()
    }

    #[inline(always)]
    fn deserialize_unit_struct<V: de::Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_unit()
    }

    #[inline(always)]
    fn deserialize_newtype_struct<V: de::Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_newtype_struct(self)
    }

    #[inline(always)]
    fn deserialize_seq<V: de::Visitor<'a>>(self, visitor: V) -> Result<V::Value, Never> {
        let left = self.length();
        visitor.visit_seq(Items { bytes: self, left })
    }

    #[inline(always)]
    fn deserialize_tuple<V: de::Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    #[inline(always)]
    fn deserialize_tuple_struct<V: de::Visitor<'a>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    #[inline(always)]
    fn deserialize_map<V: de::Visitor<'a>>(self, visitor: V) -> Result<V::Value, Never> {
        let left = self.length();
        visitor.visit_map(Items { bytes: self, left })
    }

    #[inline(always)]
    fn deserialize_struct<V: de::Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    #[inline(always)]
    fn deserialize_enum<V: de::Visitor<'a>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_enum(Variant { most: variants.len().saturating_sub(1) as u32, bytes: self })
    }

    fn deserialize_any<V: de::Visitor<'a>>(self, _: V) -> Result<V::Value, Never> {
        refused()
    }

    fn deserialize_identifier<V: de::Visitor<'a>>(self, _: V) -> Result<V::Value, Never> {
        refused()
    }

    fn deserialize_ignored_any<V: de::Visitor<'a>>(self, _: V) -> Result<V::Value, Never> {
        refused()
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The fields of a struct or tuple: there is always one more, because each type asks for those that it has.
struct Fields<'r, 'a>(&'r mut Reader<'a>);

impl<'a> de::SeqAccess<'a> for Fields<'_, 'a> {
    type Error = Never;

    #[inline(always)]
    fn next_element_seed<T: de::DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Never> {
        seed.deserialize(&mut *self.0).map(Some)
    }

    #[inline(always)]
    fn next_element<T: Deserialize<'a>>(&mut self) -> Result<Option<T>, Never> {
        T::deserialize(&mut *self.0).map(Some)
    }
}

/// The items of a list or map.
struct Items<'r, 'a> {
    bytes: &'r mut Reader<'a>,
    left: usize,
}

impl Items<'_, '_> {
    /// Returns whether there is one more to read: bytes that end too early do not make a list of a million zeros.
    fn more(&mut self) -> bool {
        self.left > 0 && !DAMAGED.get() && {
            self.left -= 1;
            true
        }
    }
}

impl<'a> de::SeqAccess<'a> for Items<'_, 'a> {
    type Error = Never;

    #[inline(always)]
    fn next_element_seed<T: de::DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Never> {
        if self.more() { seed.deserialize(&mut *self.bytes).map(Some) } else { Ok(None) }
    }

    #[inline(always)]
    fn next_element<T: Deserialize<'a>>(&mut self) -> Result<Option<T>, Never> {
        if self.more() { T::deserialize(&mut *self.bytes).map(Some) } else { Ok(None) }
    }

    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'a> de::MapAccess<'a> for Items<'_, 'a> {
    type Error = Never;

    #[inline(always)]
    fn next_key_seed<K: de::DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Never> {
        de::SeqAccess::next_element_seed(self, seed)
    }

    #[inline(always)]
    fn next_value_seed<V: de::DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Never> {
        seed.deserialize(&mut *self.bytes)
    }

    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

struct Variant<'r, 'a> {
    bytes: &'r mut Reader<'a>,
    /// The number of the last one.
    most: u32,
}

impl<'a> de::EnumAccess<'a> for Variant<'_, 'a> {
    type Error = Never;
    type Variant = Self;

    #[inline(always)]
    fn variant_seed<V: de::DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), Never> {
        let number = self.bytes.variant(self.most);
        seed.deserialize(de::value::U32Deserializer::new(number)).map(|variant| (variant, self))
    }
}

impl<'a> de::VariantAccess<'a> for Variant<'_, 'a> {
    type Error = Never;

    #[inline(always)]
    fn unit_variant(self) -> Result<(), Never> {
        Ok(())
    }

    #[inline(always)]
    fn newtype_variant_seed<T: de::DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Never> {
        seed.deserialize(self.bytes)
    }

    #[inline(always)]
    fn tuple_variant<V: de::Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self.bytes))
    }

    #[inline(always)]
    fn struct_variant<V: de::Visitor<'a>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self.bytes))
    }
}

#[cfg(test)]
#[path = "flat_tests.rs"]
mod tests;
