import { manualTimer } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import fc from 'fast-check'
import { createTimeoutSet, type TimeoutSet } from './timeout-set.ts'

describe('a set of timeouts', () => {
  it('times out each item once its time is over, deleted ones never, and those added again anew', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), item: fc.integer({ min: 0, max: 9 }) }),
      fc.record({ kind: fc.constant('delete' as const), item: fc.integer({ min: 0, max: 9 }) }),
      fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 400 }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const timer = manualTimer()
        const expired: number[] = []
        const timeouts = create<number>({ timer, afterMs: 500 }, (item) => expired.push(item))
        const dueAt = new Map<number, number>()
        const expected: number[] = []
        for (const each of steps) {
          if (each.kind === 'add') {
            dueAt.delete(each.item)
            dueAt.set(each.item, timer.now() + 500)
            timeouts.add(each.item)
          } else if (each.kind === 'delete') {
            expect(timeouts.delete(each.item)).to.equal(dueAt.delete(each.item))
          } else {
            timer.advance(each.ms)
            for (const [item, due] of dueAt) if (due + 20 <= timer.now()) expected.push(item)
            for (const item of expected) if (!expired.includes(item)) return false
            for (const item of expired) if ((dueAt.get(item) ?? 0) > timer.now()) return false
            for (const item of expired.splice(0)) dueAt.delete(item)
            expected.length = 0
          }
        }
        return timeouts.size() === dueAt.size
      }),
    )
  })

  it('needs one timer for any number of items, and none when all are over', () => {
    const timer = manualTimer()
    const timeouts = create<number>({ timer, afterMs: 500 }, () => undefined)

    for (let item = 0; item < 1_000; item += 1) timeouts.add(item)
    expect(timer.pending()).to.equal(1)
    timer.advance(600)

    expect(timeouts.size()).to.equal(0)
    expect(timer.pending()).to.equal(0)
  })

  it('lets an item that times out be added again', () => {
    const timer = manualTimer()
    let timedOut = 0
    const timeouts = create<string>({ timer, afterMs: 100 }, (item) => {
      timedOut += 1
      timeouts.add(item)
    })

    timeouts.add('socket')
    for (let turn = 0; turn < 10; turn += 1) timer.advance(100)

    expect(timedOut).to.be.within(8, 10)
    timeouts.stop()
    expect(timer.pending()).to.equal(0)
  })
})

function create<T>(
  { timer, afterMs }: { timer: ReturnType<typeof manualTimer>; afterMs: number },
  expire: (item: T) => void,
): TimeoutSet<T> {
  return createTimeoutSet(afterMs, timer, expire)
}
