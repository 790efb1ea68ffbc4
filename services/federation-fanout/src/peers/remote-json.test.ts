import { expect } from 'chai'
import { anyCharacter } from '@gatehouse/test-kit/any-character'
import fc from 'fast-check'
import { jsonOf, messageOf, readableText } from './exchange.ts'

const answer = (body: string, status = 400) => ({ status, headers: {}, body: Buffer.from(body) })

describe('text from another instance', () => {
  it('are read from error, then from message, else its status is told', () => {
    expect(messageOf(answer('{"error":"No","message":"Not that"}'))).to.equal('No')
    expect(messageOf(answer('{"error":7,"message":"Not that"}'))).to.equal('Not that')
    expect(messageOf(answer('{"error":" "}', 418))).to.equal('The instance answered with status 418')
    expect(messageOf(answer('<html>', 502))).to.equal('The instance answered with status 502')
    expect(messageOf(answer('["error"]', 500))).to.equal('The instance answered with status 500')
  })

  it('become one line of well-formed text of at most 200 characters', () => {
    expect(readableText(' a\r\n\tb\0\u202Ec ')).to.equal('a b c')
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 500 }), (text) => {
        const line = readableText(text)
        return line.isWellFormed() && [...line].length <= 200 && !/[\p{Cc}\p{Cf}]/u.test(line)
      }),
    )
  })

  it('are an object or nothing, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        const json = jsonOf({ body: Buffer.from(text) })
        return json === undefined || (typeof json === 'object' && !Array.isArray(json))
      }),
    )
  })
})
