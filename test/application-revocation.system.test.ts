import { expect } from 'chai'
import { formatApplicationRun, runApplicationRevocations } from './revocation/applications.ts'

/** Design: invariant 1; Contract: 3, Applications. test/openid.test.ts has it without faults. */
describe('Codes and tokens of applications are dead once the change was answered', function () {
  this.timeout(560_000)

  const seed = Number(process.env.REVOCATION_SEED ?? 20_261_129)
  it(`on every gateway and openid, while openid, identity, Redis and NATS are killed and frozen (seed ${seed})`, async () => {
    const replicas = { gateway: 2, openid: 2, identity: 2 }
    const run = await runApplicationRevocations({ seed, replicas, workers: 4, faults: 6, changes: 24 })

    process.stdout.write(`${formatApplicationRun(run).replaceAll(/^/gm, '      ')}\n`)
    expect(run.stale).to.deep.equal([])
    const ofServices = ['openid killed', 'openid frozen', 'identity killed', 'identity frozen']
    expect([...run.faults.keys()]).to.include.members(ofServices)
    expect(run.before.accepted).to.be.greaterThan(0)
    expect(run.before.refused).to.equal(0)
    for (const [name, { refused }] of run.after) expect(refused, name).to.be.greaterThan(0)
  })
})
