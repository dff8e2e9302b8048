//! Reads the values of a record entry from JSON, one function for each kind of the schema.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::MapAccess;

use crate::record::event_kind::{Act, EventKind};

/// A text, borrowed where it has no escapes.
#[derive(Deserialize)]
pub(crate) struct BorrowedText<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

pub(crate) fn text<'a, M: MapAccess<'a>>(map: &mut M) -> Result<Cow<'a, str>, M::Error> {
    Ok(map.next_value::<BorrowedText<'a>>()?.0)
}

pub(crate) fn text_unless_empty<'a, M: MapAccess<'a>>(
    map: &mut M,
) -> Result<Cow<'a, str>, M::Error> {
    text(map)
}

pub(crate) fn optional_text<'a, M: MapAccess<'a>>(
    map: &mut M,
) -> Result<Option<Cow<'a, str>>, M::Error> {
    Ok(map.next_value::<Option<BorrowedText<'a>>>()?.map(|text| text.0))
}

pub(crate) fn list<'a, M: MapAccess<'a>>(map: &mut M) -> Result<Vec<Cow<'a, str>>, M::Error> {
    let texts = map.next_value::<Vec<BorrowedText<'a>>>()?;
    Ok(texts.into_iter().map(|text| text.0).collect())
}

pub(crate) fn time<'a, M: MapAccess<'a>>(map: &mut M) -> Result<Timestamp, M::Error> {
    map.next_value()
}

pub(crate) fn act<'a, M: MapAccess<'a>>(map: &mut M) -> Result<Act, M::Error> {
    map.next_value()
}

pub(crate) fn event<'a, M: MapAccess<'a>>(map: &mut M) -> Result<EventKind, M::Error> {
    map.next_value()
}

pub(crate) fn number<'a, M: MapAccess<'a>>(map: &mut M) -> Result<u32, M::Error> {
    map.next_value()
}

pub(crate) fn optional_number<'a, T: Deserialize<'a>, M: MapAccess<'a>>(
    map: &mut M,
) -> Result<Option<T>, M::Error> {
    map.next_value()
}

pub(crate) fn optional_value<'a, T: Deserialize<'a>, M: MapAccess<'a>>(
    map: &mut M,
) -> Result<Option<T>, M::Error> {
    map.next_value()
}

pub(crate) fn chained<'a, M: MapAccess<'a>>(map: &mut M) -> Result<u64, M::Error> {
    map.next_value()
}
