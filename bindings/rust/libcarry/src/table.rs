// SPDX-License-Identifier: MIT
//! Declares the enums that come from tables of libcarry.

/// Declares an enum for numbers of libcarry, with a name for each.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident: $number:ty {
            $($(#[$doc:meta])* $variant:ident = $value:literal, $name:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr($number)]
        pub enum $enum {
            $($(#[$doc])* $variant = $value,)*
        }

        impl $enum {
            /// All variants, in the order of libcarry's numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the variant with libcarry's number `number`.
            #[must_use]
            pub const fn from_number(number: $number) -> Option<Self> {
                match number {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the name that tools print.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl core::fmt::Display for $enum {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
