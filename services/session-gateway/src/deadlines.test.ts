import { expect } from 'chai'
import fc from 'fast-check'
import { createDeadlines } from './deadlines.ts'

describe('deadlines', () => {
  it('expires each item once its time is over, those taken out never, and those added again anew', () => {
    const act = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), item: fc.integer({ min: 0, max: 9 }) }),
      fc.record({ kind: fc.constant('delete' as const), item: fc.integer({ min: 0, max: 9 }) }),
      fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 400 }) }),
    )
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const time = fakeTimer()
        const expired: number[] = []
        const deadlines = createDeadlines<number>(500, (item) => expired.push(item), time.timer)
        const dueAt = new Map<number, number>()
        const expected: number[] = []
        for (const each of acts) {
          if (each.kind === 'add') {
            dueAt.delete(each.item)
            dueAt.set(each.item, time.timer.now() + 500)
            deadlines.add(each.item)
          } else if (each.kind === 'delete') {
            expect(deadlines.delete(each.item)).to.equal(dueAt.delete(each.item))
          } else {
            time.pass(each.ms)
            for (const [item, due] of dueAt) if (due + 20 <= time.timer.now()) expected.push(item)
            for (const item of expected) if (!expired.includes(item)) return false
            for (const item of expired) if ((dueAt.get(item) ?? 0) > time.timer.now()) return false
            for (const item of expired.splice(0)) dueAt.delete(item)
            expected.length = 0
          }
        }
        return deadlines.size === dueAt.size
      }),
    )
  })

  it('runs one timer for any number of items, and none when all is over', () => {
    const time = fakeTimer()
    const deadlines = createDeadlines<number>(500, () => undefined, time.timer)

    for (let item = 0; item < 1_000; item += 1) deadlines.add(item)
    expect(time.pending()).to.equal(1)
    time.pass(600)

    expect(deadlines.size).to.equal(0)
    expect(time.pending()).to.equal(0)
  })

  it('lets an item that expires be added again', () => {
    const time = fakeTimer()
    let beats = 0
    const deadlines = createDeadlines<string>(
      100,
      (item) => {
        beats += 1
        deadlines.add(item)
      },
      time.timer,
    )

    deadlines.add('socket')
    for (let turn = 0; turn < 10; turn += 1) time.pass(100)

    expect(beats).to.be.within(8, 10)
    deadlines.stop()
    expect(time.pending()).to.equal(0)
  })
})

/** A timer that goes only when told to. */
function fakeTimer() {
  let now = 0
  const due = new Map<object, { at: number; run: () => void }>()
  const timer = {
    now: () => now,
    set(run: () => void, ms: number) {
      const key = {}
      due.set(key, { at: now + ms, run })
      return key
    },
    clear: (key: unknown) => void due.delete(key as object),
  }
  return {
    timer,
    pending: () => due.size,
    pass(ms: number) {
      const until = now + ms
      for (;;) {
        const [next] = [...due].filter(([, { at }]) => at <= until).sort((one, other) => one[1].at - other[1].at)
        if (!next) break
        due.delete(next[0])
        now = Math.max(now, next[1].at)
        next[1].run()
      }
      now = until
    },
  }
}
