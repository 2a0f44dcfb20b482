// SPDX-License-Identifier: MIT
//! A list that allocates no memory: a frame has few checksums.

use crate::ffi::Items;
use core::fmt;
use core::ops::Deref;

/// A list of at most 32 items. It can be used as a slice, and iterated over.
#[derive(Clone)]
#[must_use]
pub struct List<T: Copy> {
    pub(crate) items: Items<T>,
}

impl<T: Copy> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.items.as_slice()
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Copy> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Copy> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { list: self, next: 0 }
    }
}

/// Iterates over the items of a [`List`].
#[derive(Clone, Debug)]
pub struct IntoIter<T: Copy> {
    list: List<T>,
    next: usize,
}

impl<T: Copy> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let item = self.list.get(self.next).copied();
        self.next += usize::from(item.is_some());
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.list.len() - self.next;
        (left, Some(left))
    }
}

impl<T: Copy> ExactSizeIterator for IntoIter<T> {}
