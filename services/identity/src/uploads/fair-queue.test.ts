import { expect } from 'chai'
import { createFairQueue } from './fair-queue.ts'

describe('the fair queue', () => {
  it('serves sources in turns, and the items of one in their order', () => {
    const queue = createFairQueue<string>({ capacity: 9, perSource: 4 })
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.push(item[0]!, item)

    const taken = Array.from({ length: 7 }, () => queue.take())

    expect(taken).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined])
  })

  it('passes a source by whose turn it is not to be, and serves it next', () => {
    const queue = createFairQueue<string>({ capacity: 9, perSource: 4 })
    for (const item of ['a1', 'a2', 'b1', 'b2', 'c1']) queue.push(item[0]!, item)

    const others = [queue.take(new Set('a')), queue.take(new Set(['a', 'c'])), queue.take(new Set(['a', 'b', 'c']))]

    expect(others).to.deep.equal(['b1', 'b2', undefined])
    expect([queue.take(), queue.take(), queue.take()]).to.deep.equal(['a1', 'c1', 'a2'])
  })

  it('takes no more of one source than it may, and no more in all than it holds', () => {
    const queue = createFairQueue<number>({ capacity: 3, perSource: 2 })

    expect([1, 2, 3].map((item) => queue.push('a', item))).to.deep.equal([true, true, false])
    expect(queue.push('b', 4)).to.equal(true)
    expect(queue.push('c', 5)).to.equal(false)
    expect(queue.size()).to.equal(3)
    queue.take()
    expect(queue.push('c', 5)).to.equal(true)
  })
})
