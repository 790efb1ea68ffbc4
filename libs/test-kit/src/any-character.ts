import fc from 'fast-check'

const codePoint = fc.oneof(
  fc.integer({ min: 0x20, max: 0x7e }),
  fc.integer({ min: 0, max: 0xd7ff }),
  fc.integer({ min: 0xe000, max: 0x10ffff }),
)

/** Any of Unicode, a third of them ASCII. The library's `unit: 'binary'` lists them all first, which takes seconds in each process. */
export const anyCharacter = codePoint.map((one) => String.fromCodePoint(one))
