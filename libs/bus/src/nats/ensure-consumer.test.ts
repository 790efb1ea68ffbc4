import { expect } from 'chai'
import { NatsError, type JetStreamManager } from 'nats'
import { ensureConsumer } from './consumers.ts'

const config = { durable_name: 'group', description: 'new' }

/** A server on which the consumer has another configuration. */
function serverThatRefuses(code: number) {
  const error = Object.assign(new NatsError('refused', '400'), { api_error: { code: 400, err_code: code } })
  const updates: unknown[] = []
  const consumers = {
    add: () => Promise.reject(error),
    update: async (...given: unknown[]) => void updates.push(given),
  }
  return { jsm: { consumers } as unknown as JetStreamManager, updates, error }
}

describe('A durable consumer that is there with another configuration', () => {
  it('is given the new one, by servers before and from 2.10', async () => {
    for (const code of [10013, 10148]) {
      const { jsm, updates } = serverThatRefuses(code)
      await ensureConsumer(jsm, 'events', config)
      expect(updates, String(code)).to.deep.equal([['events', 'group', config]])
    }
  })

  it('stays as it is when the server refuses it for another reason', async () => {
    const { jsm, updates, error } = serverThatRefuses(10058)
    expect(await ensureConsumer(jsm, 'events', config).catch((cause: unknown) => cause)).to.equal(error)
    expect(updates).to.deep.equal([])
  })
})
