import { expect } from 'chai'
import { formatSocketRun, runSocketRevocations, startSocketScene } from './sockets.ts'
import type { SocketRun, SocketScene, SocketSize } from './sockets.ts'

export const wholeSize: SocketSize = {
  seed: Number(process.env.REVOCATION_SEED ?? 20_261_123),
  replicas: { gateway: 2, identity: 2 },
  workers: 8,
  changes: 30,
}

/** Registers the tests of a run of this size and of its control. */
export function testSockets(size: SocketSize): void {
  let scene: SocketScene
  before(async () => {
    scene = await startSocketScene({ ...size, changes: 2 * size.changes })
  })
  after(() => scene[Symbol.asyncDispose]())

  async function run(judged: boolean): Promise<SocketRun> {
    const result = await runSocketRevocations(scene, { ...size, judged })
    process.stdout.write(`${formatSocketRun(result)}\n`)
    expect(result.before).to.be.above(0)
    expect(result.sentAfter).to.be.above(0)
    return result
  }

  it('send nothing on with the old authority after the answer, and get nothing by it', async () => {
    expect((await run(true)).stale).to.equal(0)
  })

  it('would, if the account were read once: the control', async () => {
    expect((await run(false)).stale).to.be.above(0)
  })
}
