import { expect } from 'chai'
import { formatSocketRun, runSocketRevocations, type SocketRun } from './revocation/sockets.ts'

const seed = Number(process.env.REVOCATION_SEED ?? 20_261_123)

/** Contract: 6, messages of revoked tokens. */
describe(`Sockets of accounts that are reset, deleted, suspended and demoted under faults (seed ${seed})`, function () {
  this.timeout(280_000)

  async function run(judged: boolean): Promise<SocketRun> {
    const done = await runSocketRevocations({ accounts: 30, seed, judged })
    process.stdout.write(`${formatSocketRun(done)}\n`)
    expect(done.before).to.be.above(0)
    expect(done.sentAfter).to.be.above(0)
    return done
  }

  it('send nothing on with the old authority after the answer, and get nothing by it', async () => {
    expect((await run(true)).stale).to.equal(0)
  })

  it('would, if the account were read once: the control', async () => {
    expect((await run(false)).stale).to.be.above(0)
  })
})
