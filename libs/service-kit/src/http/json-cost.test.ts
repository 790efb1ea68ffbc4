import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import fc from 'fast-check'
import { costsAtMost } from './json-cost.ts'

describe('The cost of JSON, from its bytes', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
  const valuesOf = (value: unknown): number =>
    typeof value === 'object' && value !== null
      ? Math.max(1, Object.keys(value).length) + Object.values(value).reduce((sum: number, v) => sum + valuesOf(v), 0)
      : 0

  it('is the depth and the number of what the parser would make, whatever stands in its texts', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const bytes = Buffer.from(JSON.stringify(value))
        const [depth, values] = [depthOf(value), valuesOf(value)]
        expect(costsAtMost(bytes, { depth, values })).to.equal(true)
        if (depth > 0) expect(costsAtMost(bytes, { depth: depth - 1, values })).to.equal(false)
        if (values > 0) expect(costsAtMost(bytes, { depth, values: values - 1 })).to.equal(false)
      }),
    )
  })

  it('is told of bytes that are no JSON', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(costsAtMost(bytes, { depth: 256, values: 256 })).to.be.a('boolean')
      }),
    )
  })

  it('keeps ten megabytes of empty lists from the parser, which would take hundreds', () => {
    const peakOf = (judged: boolean) => {
      const script = `
        const bytes = Buffer.from('{"events":[' + '[],'.repeat(3_300_000) + '[]]}')
        const before = process.resourceUsage().maxRSS
        const { costsAtMost } = await import(${JSON.stringify(import.meta.resolve('./json-cost.ts'))})
        const values = []
        for (let i = 0; i < 3; i += 1) {
          if (!${judged} || costsAtMost(bytes, { depth: 32, values: 50_000 })) values.push(JSON.parse(bytes.toString()))
        }
        console.log(process.resourceUsage().maxRSS - before)`
      return Number(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })) / 1024
    }

    expect(peakOf(true)).to.be.below(40)
    expect(peakOf(false)).to.be.above(200)
  })
})
