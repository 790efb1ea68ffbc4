import { expect } from 'chai'
import { createConnectionQueue } from './replicas.ts'

const queueOf = (capacity: number, overrides: object = {}) =>
  createConnectionQueue({
    capacity: () => capacity,
    waitMs: 10_000,
    maxWaiting: 100,
    maxWaitingPerNetwork: 100,
    ...overrides,
  })

describe('createConnectionQueue', () => {
  it('gives one network half of the connections, and the others the rest', () => {
    const queue = queueOf(4)

    expect([queue.tryTake('a'), queue.tryTake('a'), queue.tryTake('a')]).to.deep.equal([true, true, false])
    expect([queue.tryTake('b'), queue.tryTake('c'), queue.tryTake('d')]).to.deep.equal([true, true, false])
  })

  it('gives what comes free to the waiting networks in turn, however many wait for one of them', async () => {
    const queue = queueOf(2)
    queue.tryTake('x')
    queue.tryTake('y')
    const order: string[] = []
    const waitFor = async (network: string, name: string): Promise<void> => {
      if (await queue.wait(network).granted) order.push(name)
      queue.release(network)
    }
    const all = [waitFor('a', 'a1'), waitFor('a', 'a2'), waitFor('a', 'a3'), waitFor('b', 'b1')]
    queue.release('x')
    await Promise.all(all)

    expect(order).to.deep.equal(['a1', 'b1', 'a2', 'a3'])
  })

  it('does not let a network at its half hold up the next one', async () => {
    const queue = queueOf(4)
    for (const network of ['a', 'a', 'b', 'b']) queue.tryTake(network)
    const ofA = queue.wait('a')
    const ofC = queue.wait('c')
    queue.release('b')

    expect(await ofC.granted).to.equal(true)
    ofA.cancel()
    expect(await ofA.granted).to.equal(false)
  })

  it('ends a wait at the time limit, and refuses those beyond the maximum at once', async () => {
    const queue = queueOf(1, { waitMs: 5, maxWaiting: 3, maxWaitingPerNetwork: 2 })
    queue.tryTake('x')
    const waits = ['a', 'a', 'b'].map((network) => queue.wait(network).granted)

    expect(await queue.wait('c').granted).to.equal(false)
    expect(await Promise.all(waits)).to.deep.equal([false, false, false])
    queue.release('x')
    expect(queue.tryTake('c')).to.equal(true)
  })
})
