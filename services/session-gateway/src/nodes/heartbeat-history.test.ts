import { manualTimer } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { timings } from '../policy.ts'
import { createHeartbeatHistory } from './session-node.ts'

const succeeds = async () => undefined
const fails = async () => {
  throw new Error('the database is away')
}

describe('the heartbeats of a node', () => {
  it('are complete 20 s after its start, and not before', async () => {
    const { timer, heartbeats } = start()

    await heartbeats.observe(succeeds)
    timer.advance(19_999)
    expect(heartbeats.isComplete()).to.equal(false)
    timer.advance(1)

    expect(heartbeats.isComplete()).to.equal(true)
  })

  it('are complete again 20 s after one that failed, whose error is thrown', async () => {
    const { timer, heartbeats } = start()
    timer.advance(60_000)

    const error = await heartbeats.observe(fails).catch((thrown: Error) => thrown.message)
    timer.advance(19_999)
    expect(heartbeats.isComplete()).to.equal(false)
    timer.advance(1)

    expect(error).to.equal('the database is away')
    expect(heartbeats.isComplete()).to.equal(true)
  })

  it('are interrupted by one that hung for longer than 20 s, although it succeeded in the end', async () => {
    const { timer, heartbeats } = start()
    timer.advance(60_000)

    await heartbeats.observe(async () => timer.advance(20_001))

    expect(heartbeats.isComplete()).to.equal(false)
  })

  /** Contract: 6, Status. */
  it('leave time for an eviction within 60 s of a kill', () => {
    expect(timings.nodeSilenceMs + 2 * timings.nodeHeartbeatMs).to.be.at.most(60_000 / 2)
  })
})

function start() {
  const timer = manualTimer()
  return { timer, heartbeats: createHeartbeatHistory(timer, timings.nodeSilenceMs) }
}
