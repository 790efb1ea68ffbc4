import { expect } from 'chai'
import fc from 'fast-check'
import { IdSet, Repetitions } from './id-set.ts'

describe('A set of ids', () => {
  it('has what was added, and says what is new, as a set of texts does', () => {
    const id = fc.oneof(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), fc.bigInt({ min: 1n, max: 3000n }))
    fc.assert(
      fc.property(fc.array(id, { maxLength: 3000, size: 'max' }), fc.array(id), (added, others) => {
        const [ids, texts] = [new IdSet(), new Set<string>()]
        for (const each of added) {
          expect(ids.add(String(each))).to.equal(!texts.has(String(each)))
          texts.add(String(each))
        }
        for (const each of [...added, ...others]) expect(ids.has(String(each))).to.equal(texts.has(String(each)))
      }),
      { numRuns: 20 },
    )
  })
})

describe('Repetitions', () => {
  it('are the texts that came twice', () => {
    const repetitions = new Repetitions()
    for (const text of ['ada', 'bo', 'ada']) repetitions.add(text)

    const texts = ['ada', 'bo', 'cy']
    expect(texts.map((text) => repetitions.isRepeated(text))).to.deep.equal([true, false, false])
    expect(texts.map((text) => repetitions.has(text))).to.deep.equal([true, true, false])
  })
})
