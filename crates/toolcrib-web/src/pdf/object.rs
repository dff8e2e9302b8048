//! The objects that a PDF is made of.

use std::ops::Range;

/// An object of a PDF.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PdfObject {
    Null,
    Flag(bool),
    Number(f64),
    Text(Vec<u8>),
    Name(String),
    List(Vec<PdfObject>),
    Dictionary(PdfDictionary),
    /// A dictionary, and where in the file the data of the stream is.
    Stream(PdfDictionary, Range<usize>),
    /// The number of an object that stands elsewhere.
    Reference(u32),
}

/// Names and the objects they stand for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PdfDictionary {
    pub(crate) entries: Vec<(String, PdfObject)>,
}

impl PdfDictionary {
    /// Returns what a name stands for. The first of several counts.
    pub(crate) fn get(&self, name: &str) -> Option<&PdfObject> {
        self.entries.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn name(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_name()
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_number()
    }
}

impl PdfObject {
    /// Returns how much it takes to copy the object.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Text(text) => 1 + text.len() / 16,
            Self::List(list) => list.iter().map(Self::weight).sum::<usize>() + 1,
            Self::Dictionary(dictionary) | Self::Stream(dictionary, _) => {
                dictionary.entries.iter().map(|(_, object)| 2 + object.weight()).sum::<usize>() + 1
            }
            Self::Null | Self::Flag(_) | Self::Number(_) | Self::Name(_) | Self::Reference(_) => 1,
        }
    }

    pub(crate) fn as_name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a number that counts something or is an offset.
    pub(crate) fn as_count(&self) -> Option<usize> {
        let number = self.as_number()?;
        (0.0..1e15).contains(&number).then_some(number).map(to_count)
    }

    pub(crate) fn as_text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the dictionary, also that of a stream.
    pub(crate) fn as_dictionary(&self) -> Option<&PdfDictionary> {
        match self {
            Self::Dictionary(dictionary) | Self::Stream(dictionary, _) => Some(dictionary),
            _ => None,
        }
    }
}

#[expect(clippy::cast_sign_loss, reason = "the caller has checked the range")]
fn to_count(number: f64) -> usize {
    number as usize
}
