import { expect } from 'chai'
import fc from 'fast-check'
import { countCodePoints, inOneLine, isStorableText } from './constants/text.ts'
import { optionalText, snowflake, text, trimmedText } from './text.ts'

/** Any text, broken surrogates and control characters included. */
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) })

/** Contract: 3, Names in a line. */
describe('A name', () => {
  it('loses what would turn or break its line, and keeps joiners and four marks on a character', () => {
    const bidi = [
      '\u202a',
      '\u202e',
      '\u2066',
      '\u2069',
      '\u200e',
      '\u200f',
      '\ufeff',
      '\u00ad',
      '\n',
      '\r',
      '\u2028',
      '\x85',
    ]
    for (const removed of bidi) expect(inOneLine(`a${removed}b`), JSON.stringify(removed)).to.equal('ab')
    for (const word of ['👩\u200d🚀', 'می\u200cخواهم', 'ｅ\u0301', '❤\ufe0f', 'שלום', 'a\tb'])
      expect(inOneLine(word)).to.equal(word)
    expect(inOneLine(`Z${'\u0301'.repeat(200)}o\u0308`)).to.equal(`Z${'\u0301'.repeat(4)}o\u0308`)
    expect(inOneLine('a' + ('\u0301'.repeat(3) + '\u200d').repeat(6))).to.equal(
      `a${'\u0301'.repeat(3)}\u200d\u0301\u200d`,
    )
  })

  it('is cleaned before it is measured, and absent when nothing is left; a text of many lines stays', () => {
    expect(optionalText('displayName', 3, 'one').parse('\u202eabc\u2069\n')).to.equal('abc')
    expect(optionalText('displayName', 3, 'one').parse('\u202e \u2069')).to.equal(null)
    expect(optionalText('bio', 3).parse('a\nb')).to.equal('a\nb')
    expect(trimmedText('name', 3, 'one').safeParse('abcd').success).to.equal(false)
  })
})

describe('Texts', () => {
  it('are counted in code points', () => {
    expect(countCodePoints('')).to.equal(0)
    expect(countCodePoints('aé🎉')).to.equal(3)
    fc.assert(fc.property(anyText, (value) => void expect(countCodePoints(value)).to.equal([...value].length)))
  })

  /** Contract: 1, Texts. */
  it('may be stored when PostgreSQL gives back what it took: no NUL, no lone surrogate', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const survivesUtf8 = new TextDecoder().decode(new TextEncoder().encode(value)) === value.replace(/^\ufeff/, '')
        expect(isStorableText(value)).to.equal(survivesUtf8 && !value.includes('\0'))
      }),
    )
  })

  it('are refused with a message that names the field', () => {
    const messageFor = (value: unknown) => text('bio').safeParse(value).error?.issues[0]?.message

    expect(messageFor(undefined)).to.equal('bio is required')
    expect(messageFor(3)).to.equal('bio must be a string')
    expect(messageFor('\ud800')).to.equal('bio contains characters that are not allowed')
    expect(messageFor('fine')).to.equal(undefined)
    const [tooLong] = text('bio').max(3).safeParse('four').error?.issues ?? []
    expect(tooLong?.message).to.include('3').and.not.include('must be a string')
  })

  it('are trimmed before they are measured', () => {
    expect(trimmedText('name', 3).parse('  🎉🎉🎉 ')).to.equal('🎉🎉🎉')
    expect(trimmedText('name', 3).safeParse('🎉🎉🎉🎉').success).to.equal(false)
  })

  it('that are optional and empty after trimming are null', () => {
    expect(['  ', '', null, ' a '].map((value) => optionalText('bio', 9).parse(value))).to.deep.equal([
      null,
      null,
      null,
      'a',
    ])
  })
})

describe('Ids', () => {
  it('are decimal texts of 64 bits', () => {
    const good = ['0', '1', '9223372036854775807']
    const bad = [
      '',
      '-1',
      '1.5',
      '9223372036854775808',
      '1'.repeat(20),
      '0x1',
      ' 1',
      '1\n',
      '١',
      1,
      null,
      undefined,
      ['1'],
    ]

    expect(good.map((id) => snowflake.safeParse(id).success)).to.deep.equal([true, true, true])
    expect(bad.map((id) => snowflake.safeParse(id).success)).to.deep.equal(bad.map(() => false))
  })

  it('are parsed or refused, whatever is given', () => {
    fc.assert(fc.property(fc.anything(), (value) => void expect(snowflake.safeParse(value).success).to.be.a('boolean')))
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 65n }), (id) => {
        expect(snowflake.safeParse(String(id)).success).to.equal(id < 2n ** 63n)
      }),
    )
  })
})
