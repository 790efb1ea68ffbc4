import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { startHarness, type Harness } from './harness.ts'

/** A request that has reached a service; `respond` ends it. */
async function startSlowRequest(harness: Harness) {
  const authorization = `Bearer ${harness.member()}`
  let respond = (): void => undefined
  const reached = new Promise<void>((resolve) => {
    harness.stub.behave = (_request, response) => {
      respond = () => response.end('{"late":true}')
      resolve()
    }
  })
  const asked = fetch(`${harness.url}/api/users/@me`, { headers: { authorization } })
  await reached
  return { asked, respond: () => respond() }
}

const refusesConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', () => resolve(true))
  })

describe('A stopping gateway', () => {
  it('answers what it has accepted, for longer than a moment, and accepts nothing new', async () => {
    await using harness = await startHarness()
    const { asked, respond } = await startSlowRequest(harness)
    let hasStopped = false
    const stopped = harness.gateway[Symbol.asyncDispose]().then(() => (hasStopped = true))
    const ready = await fetch(`${harness.opsUrl}/readyz`)
    await eventually('connections are refused', () => refusesConnections(harness.port))
    // Longer than any limit that would cut requests on the way to the default drain of 15 s.
    await pause(1_500)
    const stoppedBefore = hasStopped
    respond()
    const answer = await asked

    expect(ready.status).to.equal(503)
    expect(stoppedBefore).to.equal(false)
    expect(await answer.json()).to.deep.equal({ late: true })
    await stopped
    expect(await fetch(harness.url).catch(() => 'refused')).to.equal('refused')
  })

  it('cuts what is not answered within the drain time', async () => {
    await using harness = await startHarness({ config: { drainMs: 200 } })
    const { asked } = await startSlowRequest(harness)
    const started = performance.now()
    const outcome = asked.then(
      () => 'answered',
      () => 'cut',
    )

    await harness.gateway[Symbol.asyncDispose]()

    expect(await outcome).to.equal('cut')
    expect(performance.now() - started).to.be.within(190, 2_000)
  })
})
