import { expect } from 'chai'
import { systemClock } from '@gatehouse/runtime'
import { sendToPeer, type SendDeps } from './exchange.ts'

/** Longer than a timer's resolution, and a small part of the limit. */
const firstMs = 20
const timeoutMs = 15_000

describe('sendToPeer', () => {
  it('gives both attempts of a rotation one limit together', async () => {
    const limits: number[] = []
    const answer = { status: 401, headers: {}, body: Buffer.alloc(0) }
    const request: SendDeps['outbound']['request'] = async (asked) => {
      limits.push(asked.timeoutMs)
      const start = performance.now()
      while (performance.now() - start < firstMs);
      return answer
    }
    const peer = { origin: 'https://nova.example', secret: 'a', secretsAt: () => ['a', 'b'] }
    const deps = {
      outbound: { request },
      clock: systemClock,
      random: { uuid: () => 'a nonce' },
      config: { publicAddress: { origin: 'https://gate.example' } },
    } as unknown as SendDeps

    await sendToPeer(deps, peer, { endpoint: { method: 'POST', path: '/' }, body: {}, timeoutMs })

    const [first, second] = limits
    expect(limits).to.have.length(2)
    expect(first).to.equal(timeoutMs)
    expect(second).to.be.at.most(timeoutMs - firstMs)
  })
})
