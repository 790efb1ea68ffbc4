import { expect } from 'chai'
import { codeOfStep, findStep, otpauthUri, toBase32 } from './totp.ts'

const secret = Buffer.from('12345678901234567890')

describe('TOTP', () => {
  /** RFC 6238, appendix B: the last six of its eight digits. */
  it('has the codes of RFC 6238', () => {
    const vectors = [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [1_111_111_111, '050471'],
      [1_234_567_890, '005924'],
      [2_000_000_000, '279037'],
      [20_000_000_000, '353130'],
    ] as const
    for (const [seconds, code] of vectors) {
      expect(codeOfStep(secret, Math.floor(seconds / 30))).to.equal(code)
      expect(findStep(secret, code, seconds * 1000)).to.equal(Math.floor(seconds / 30))
    }
  })

  it('takes one step either side, and no other', () => {
    const now = 1_234_567_890_000
    const step = Math.floor(now / 30_000)
    const found = [-2, -1, 0, 1, 2].map((offset) => findStep(secret, codeOfStep(secret, step + offset), now))
    expect(found).to.deep.equal([undefined, step - 1, step, step + 1, undefined])
  })

  it('takes nothing else for a code', () => {
    for (const code of ['', '28708', '2870820', 'abcdef', '２８７０８２'])
      expect(findStep(secret, code, 59_000)).to.equal(undefined)
  })

  /** RFC 4648, section 10, without padding. */
  it('writes the secret as apps read it', () => {
    const vectors = { f: 'MY', fo: 'MZXQ', foo: 'MZXW6', foob: 'MZXW6YQ', fooba: 'MZXW6YTB', foobar: 'MZXW6YTBOI' }
    for (const [text, base32] of Object.entries(vectors)) expect(toBase32(Buffer.from(text))).to.equal(base32)
    expect(otpauthUri(secret, { issuer: 'chat.example', username: 'ivy@away.example' })).to.equal(
      'otpauth://totp/chat.example:ivy%40away.example' +
        '?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=chat.example&algorithm=SHA1&digits=6&period=30',
    )
  })
})
