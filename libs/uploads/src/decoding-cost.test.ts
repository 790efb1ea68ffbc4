import { expect } from 'chai'
import { policy } from './policy.ts'
import { decodingBytes, type ImageHeader } from './decoding-cost.ts'

describe('the cost of decoding', () => {
  const budget = policy.imageMemoryBytes - policy.imageProcessBytes
  const largest: ImageHeader = { format: 'jpeg', width: 8000, height: 5000, isProgressive: false }

  it('admits 40 megapixels of what is decoded line by line or at a smaller scale', () => {
    for (const format of ['jpeg', 'png', 'webp', 'gif'] as const) {
      expect(decodingBytes({ ...largest, format }), format).to.be.below(budget)
    }
    expect(decodingBytes({ ...largest, isProgressive: true })).to.be.below(budget)
  })

  it('admits a square of 40 megapixels that are decoded line by line, and of 30 progressive ones', () => {
    const fits = (width: number, isProgressive: boolean) =>
      decodingBytes({ ...largest, width, isProgressive }, { isCropped: true }) <= budget

    expect([fits(8000, false), fits(6000, true), fits(8000, true)]).to.deep.equal([true, true, false])
  })

  it('admits AVIF of 17 megapixels, of 12 in 10 bits, and interlaced PNG of 31, and no larger ones', () => {
    const fits = (header: Partial<ImageHeader>, megapixels: number) =>
      decodingBytes({ ...largest, ...header, width: megapixels * 1000, height: 1000 }) <= budget

    expect([17, 18].map((size) => fits({ format: 'heif', bitsPerSample: 8 }, size))).to.deep.equal([true, false])
    expect([12, 13].map((size) => fits({ format: 'heif', bitsPerSample: 10 }, size))).to.deep.equal([true, false])
    expect([31, 32].map((size) => fits({ format: 'png', isProgressive: true }, size))).to.deep.equal([true, false])
  })
})
