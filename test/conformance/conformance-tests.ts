import { answered, freePort } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { ask, register } from '../federation-pair.ts'
import { startInstance } from '../instance.ts'
import { startReferencePeer } from '../reference-peer/reference-peer.ts'
import { findRow } from './page-rows.ts'
import { checkConformance, type Options, type Result } from './run.ts'

const failed = (results: Result[]) => results.filter(({ outcome }) => outcome === 'failed')
const passed = (results: Result[]) => results.filter(({ outcome }) => outcome === 'passed').map(({ name }) => name)

/** A whole instance on loopback, and a name by which it finds the reference peer. */
export async function startTarget(origin?: string) {
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const place = await startInstance({
    PORT: String(port),
    PUBLIC_ORIGIN: origin ?? address,
    DOMAIN: '127.0.0.1',
    TRUST_PROXY: 'loopback',
    FEDERATION_ALLOW_PRIVATE: 'loopback',
    FEDERATION_RESOLVE: 'nova.test=127.0.0.1',
  })
  const admin = await register({ url: address }, 'admin')
  const body = { autoAcceptPeering: true }
  await answered(ask({ url: address }, 'PATCH /api/settings/instance', { token: admin.token, body }))
  return { ...place, address, admin }
}

export async function peerAtName(): Promise<NonNullable<Options['peer']>> {
  const port = await freePort()
  return { port, origin: `http://nova.test:${port}` }
}

/** Registers the tests of one generation. */
export function testGeneration(generation: 1 | 2): void {
  it(`finds every row of generation ${generation} at this program, and leaves nothing behind`, async () => {
    await using target = await startTarget()
    const { admin } = target
    const run = { origin: target.address, generation, adminToken: admin.token, user: admin, peer: await peerAtName() }

    const results = await checkConformance(run)

    const left = await target.deps.orm.em.fork().execute('select origin, status from peers')
    expect(failed(results)).to.deep.equal([])
    expect(passed(results)).to.include.members(['an offer of the reference peer', 'deletion of that identity'])
    expect(passed(results)).to.include('another instanceId parks the peer, and reset forgets it')
    expect(left).to.deep.equal([])
    for (const { rows } of results) for (const row of rows) findRow(row)
  })

  it(`finds every row of generation ${generation} at the reference peer, without an account there`, async () => {
    const timers = { outboxMs: 300 }
    await using target = await startReferencePeer({ generation, settings: { limits: false }, timers })

    const results = await checkConformance({ origin: target.origin, generation })

    expect(failed(results)).to.deep.equal([])
    expect(passed(results)).to.include('X-Federation-Nonce, repeated, absent and of 65 characters')
  })
}
