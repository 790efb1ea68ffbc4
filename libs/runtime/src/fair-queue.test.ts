import { expect } from 'chai'
import fc from 'fast-check'
import { createFairQueue } from './fair-queue.ts'

type Item = { source: string }

const sources = ['a', 'b', 'c', 'd']
const source = fc.constantFrom(...sources)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ push: source }) },
  { weight: 3, arbitrary: fc.record({ refused: fc.subarray(sources) }) },
  { weight: 1, arbitrary: fc.record({ remove: fc.nat() }) },
)
const limits = { capacity: 12, perSource: 5 }

describe('a fair queue', () => {
  it('serves sources in turns, passes a refused one, and serves that one next', () => {
    const queue = createFairQueue<string>(limits)
    for (const item of ['a1', 'a2', 'b1', 'b2', 'c1']) queue.push(item[0]!, item)

    const others = [queue.take((name) => name !== 'a'), queue.take((name) => name === 'b'), queue.take(() => false)]

    expect(others).to.deep.equal(['b1', 'b2', undefined])
    expect([queue.take(), queue.take(), queue.take(), queue.take()]).to.deep.equal(['a1', 'c1', 'a2', undefined])
  })

  it('gives each item once and in order, and no admitted source two items while another waits for its turn', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const queue = createFairQueue<Item>(limits)
        const waiting: Item[] = []
        /** For each waiting source, the sources that were served since its last turn. */
        const servedBefore = new Map<string, Set<string>>()
        const isWaiting = (name: string): boolean => waiting.some((item) => item.source === name)

        for (const one of steps) {
          if ('push' in one) {
            const item = { source: one.push }
            const isFull =
              waiting.length === limits.capacity ||
              waiting.filter((other) => other.source === item.source).length === limits.perSource
            if (!isWaiting(item.source)) servedBefore.set(item.source, new Set())
            expect(queue.push(item.source, item)).to.equal(!isFull)
            if (!isFull) waiting.push(item)
          } else if ('refused' in one) {
            const next = queue.take((name) => !one.refused.includes(name))
            const admitted = waiting.filter((item) => !one.refused.includes(item.source))
            if (next === undefined) {
              expect(admitted).to.deep.equal([])
              continue
            }
            expect(admitted.find((item) => item.source === next.source)).to.equal(next)
            waiting.splice(waiting.indexOf(next), 1)
            servedBefore.set(next.source, new Set())
            for (const name of new Set(admitted.map((item) => item.source))) {
              if (name === next.source) continue
              const served = servedBefore.get(name)!
              expect(served.has(next.source), `${next.source} twice before ${name}`).to.equal(false)
              served.add(next.source)
            }
          } else {
            const item = waiting[one.remove % waiting.length] ?? { source: 'a' }
            expect(queue.remove(item.source, item)).to.equal(waiting.includes(item))
            if (waiting.includes(item)) waiting.splice(waiting.indexOf(item), 1)
          }
          expect(queue.size()).to.equal(waiting.length)
        }
      }),
    )
  })
})
