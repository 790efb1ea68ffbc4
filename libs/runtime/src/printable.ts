/** Control sequences, and marks that turn the direction of text. */
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** For a terminal. */
export const printable = (value: string): string => value.replace(unprintable, '\u{fffd}')
