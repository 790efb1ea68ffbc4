import { expect } from 'chai'
import { textFrameHeader } from './session-socket.ts'

describe('a text frame', () => {
  it('has a header with its length in 7, 16 or 64 bits, as RFC 6455 5.2 draws the limits', () => {
    const headers = {
      0: '8100',
      125: '817d',
      126: '817e007e',
      65_535: '817effff',
      65_536: '817f0000000000010000',
      5_000_000: '817f00000000004c4b40',
    }

    for (const [length, header] of Object.entries(headers)) {
      expect(textFrameHeader(Number(length)).toString('hex'), `${length} bytes`).to.equal(header)
    }
  })
})
