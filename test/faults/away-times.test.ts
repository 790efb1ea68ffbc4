import { movableClock } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { createAwayTimes, formatAwayTimes, activities } from './away-times.ts'

describe('how long writes, reads and sockets were away', () => {
  const gateways = ['one', 'other']
  const open = () => {
    const clock = movableClock(0)
    const times = createAwayTimes(gateways, clock.now)
    const answerAll = () => {
      for (const gateway of gateways) for (const activity of activities) times.answered(activity, gateway)
    }
    return { clock, times, answerAll }
  }

  it('is the longest time without an answer during a fault, at the worse gateway', () => {
    const { clock, times, answerAll } = open()
    clock.advance(9_000)
    times.begin('killed')
    clock.advance(2_000)
    for (const activity of activities) times.answered(activity, 'one')
    clock.advance(1_000)
    answerAll()
    clock.advance(500)
    times.begin('frozen')
    clock.advance(700)

    expect([...times.end()]).to.deep.equal([
      ['killed', [{ writes: 3_000, reads: 3_000, sockets: 3_000, events: 3_000 }]],
      ['frozen', [{ writes: 700, reads: 700, sockets: 700, events: 700 }]],
    ])
  })

  it('ends when everything was answered at every gateway', () => {
    const { clock, times, answerAll } = open()
    times.begin('killed')
    clock.advance(100)
    answerAll()
    const [before, after] = [times.isBackSince(50), times.isBackSince(100)]
    clock.advance(100)
    times.answered('writes', 'one')

    expect([before, after, times.isBackSince(100)]).to.deep.equal([true, false, false])
  })

  it('is a row for each kind of fault, with the median and the worst of several times', () => {
    const of = (writes: number) => ({ writes, reads: 100, sockets: 200, events: 200 })
    const found = new Map([
      ['killed', [of(1_000)]],
      ['frozen', [of(5_000), of(2_000), of(3_000)]],
    ])

    expect(formatAwayTimes(found).split('\n')).to.deep.equal([
      '| fault | times | writes | reads | sockets | events |',
      '| --- | --- | --- | --- | --- | --- |',
      '| frozen | 3 | 3.0 s, 5.0 s | 0.1 s, 0.1 s | 0.2 s, 0.2 s | 0.2 s, 0.2 s |',
      '| killed | 1 | 1.0 s | 0.1 s | 0.2 s | 0.2 s |',
    ])
  })
})
