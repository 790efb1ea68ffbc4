import { expect } from 'chai'
import { createSlots } from './slots.ts'

const slotsOf = (capacity: number, overrides: object = {}) =>
  createSlots({ inAll: () => capacity, perSource: () => Math.ceil(capacity / 2), waitMs: 10_000, ...overrides })

describe('slots', () => {
  it('of one source have a maximum, and the others get the rest', () => {
    const slots = slotsOf(4)

    expect([slots.tryTake('a'), slots.tryTake('a'), slots.tryTake('a')]).to.deep.equal([true, true, false])
    expect([slots.tryTake('b'), slots.tryTake('c'), slots.tryTake('d')]).to.deep.equal([true, true, false])
  })

  it('that come free go to the waiting sources in turn, however many wait for one of them', async () => {
    const slots = slotsOf(2)
    slots.tryTake('x')
    slots.tryTake('y')
    const order: string[] = []
    const waitFor = async (source: string, name: string): Promise<void> => {
      if (await slots.wait(source).granted) order.push(name)
      slots.release(source)
    }
    const all = [waitFor('a', 'a1'), waitFor('a', 'a2'), waitFor('a', 'a3'), waitFor('b', 'b1')]
    slots.release('x')
    await Promise.all(all)

    expect(order).to.deep.equal(['a1', 'b1', 'a2', 'a3'])
  })

  it('of a source at its maximum do not hold up the next source', async () => {
    const slots = slotsOf(4)
    for (const source of ['a', 'a', 'b', 'b']) slots.tryTake(source)
    const ofA = slots.wait('a')
    const ofC = slots.wait('c')
    slots.release('b')

    expect(await ofC.granted).to.equal(true)
    ofA.cancel()
    expect(await ofA.granted).to.equal(false)
  })

  it('are refused at the time limit, and beyond the maximum of those that wait at once', async () => {
    const slots = slotsOf(1, { waitMs: 5, maxWaiting: 3, maxWaitingPerSource: 2 })
    slots.tryTake('x')
    const waits = ['a', 'a', 'b'].map((source) => slots.wait(source).granted)

    expect(await slots.wait('c').granted).to.equal(false)
    expect(await Promise.all(waits)).to.deep.equal([false, false, false])
    slots.release('x')
    expect(slots.tryTake('c')).to.equal(true)
  })
})
