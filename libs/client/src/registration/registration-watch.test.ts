import { expect } from 'chai'
import { settle } from '../../test/fake-clock.ts'
import { buildClient, home } from '../../test/harness.ts'
import { createRegistrationWatch } from './index.ts'

const read = `POST ${home}/api/auth/registration`
const reply = (state: string) => ({ body: { state, username: state === 'ended' ? null : 'alice' } })

function buildWatch() {
  const built = buildClient()
  built.network.answer(read, reply('pending'))
  return { ...built, watch: createRegistrationWatch(built.client, 'receipt-1', built.clock) }
}

/** Contract: 3, Approval. */
describe('A registration that waits for approval', () => {
  it('is asked for at once, then ever less often, until it is approved', async () => {
    const { watch, network, clock } = buildWatch()

    watch.start()
    await settle()
    expect(network.sentTo(read).map(({ json }) => json)).to.deep.equal([{ receipt: 'receipt-1' }])
    for (const [ms, count] of [
      [4_999, 1],
      [1, 2],
      [7_499, 2],
      [1, 3],
      [600_000, 15],
    ] as const) {
      await clock.advance(ms)
      expect(network.sentTo(read), `after ${ms} ms`).to.have.length(count)
    }
    network.answer(read, reply('approved'))
    await clock.advance(60_000)
    await clock.advance(600_000)

    expect(watch.getSnapshot()).to.deep.equal({ status: 'approved', username: 'alice', error: null })
    expect(network.sentTo(read)).to.have.length(16)
    expect(clock.pending()).to.equal(0)
  })

  it('is asked for when the page is back, and not while it is away', async () => {
    const { watch, network, clock } = buildWatch()
    watch.start()
    await settle()
    watch.stop()
    await clock.advance(600_000)
    expect(network.sent).to.have.length(1)

    network.answer(read, reply('ended'))
    watch.start()
    await settle()

    expect(watch.getSnapshot()).to.deep.equal({ status: 'ended', username: null, error: null })
    watch.start()
    await clock.advance(600_000)
    expect(network.sent).to.have.length(2)
  })

  it('tells a failure, keeps what it knew, and waits as long as a limit says', async () => {
    const { watch, network, clock } = buildWatch()
    watch.start()
    await settle()
    network.answer(read, { status: 429, body: { error: 'Too Many Requests', statusCode: 429, retryAfter: 90 } })
    await clock.advance(5_000)
    expect(watch.getSnapshot()).to.deep.include({ status: 'pending', username: 'alice' })
    expect(watch.getSnapshot().error).to.be.instanceOf(Error)

    network.answer(read, reply('pending'))
    await clock.advance(89_999)
    expect(network.sent).to.have.length(2)
    await clock.advance(1)

    expect(watch.getSnapshot().error).to.equal(null)
    expect(network.sent).to.have.length(3)
  })
})
