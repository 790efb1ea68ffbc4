import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { answered, createDataFolder, freePort, removeFolder } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { ask, register } from '../federation-pair.ts'
import { startInstance } from '../instance.ts'
import { startReferencePeer } from '../reference-peer/reference-peer.ts'
import { findRow } from './page-rows.ts'
import { checkConformance, type Options, type Result } from './run.ts'

const failed = (results: Result[]) => results.filter(({ outcome }) => outcome === 'failed')
const passed = (results: Result[]) => results.filter(({ outcome }) => outcome === 'passed').map(({ name }) => name)

/** A whole instance on loopback, and a name by which it finds the reference peer. */
async function startTarget(origin?: string) {
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

async function peerAtName(): Promise<NonNullable<Options['peer']>> {
  const port = await freePort()
  return { port, origin: `http://nova.test:${port}` }
}

/** In front of an instance that lacks the check of nonces: a repeated one gets the answer of the first. */
async function startWithoutNonces(port: number, target: string) {
  const answers = new Map<string, { status: number; headers: [string, string][]; body: string }>()
  const server = createServer((incoming, outgoing) => {
    const forward = async () => {
      const body = await buffer(incoming)
      const nonce = String(incoming.headers['x-federation-nonce'] ?? '')
      const headers = Object.entries(incoming.headers).filter(([name]) => !['host', 'connection'].includes(name))
      const method = incoming.method ?? 'GET'
      const sent = { method, headers: Object.fromEntries(headers) as Record<string, string> }
      const answer = await fetch(target + (incoming.url ?? ''), { ...sent, ...(body.length > 0 && { body }) })
      const own = [...answer.headers].filter(([name]) => !/^(connection|transfer-encoding|content-length)$/.test(name))
      const given = { status: answer.status, headers: own, body: await answer.text() }
      const { status, headers: shown, body: text } = (answer.status === 409 && answers.get(nonce)) || given
      if (nonce !== '' && answer.status === 200) answers.set(nonce, given)
      outgoing.writeHead(status, Object.fromEntries(shown)).end(text)
    }
    forward().catch(() => outgoing.destroy())
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
  return { origin, [Symbol.asyncDispose]: stop }
}

type Ended = { code: number; stdout: string; stderr: string }

/** What `npm run conformance` starts. `kept`: the page that it wrote into the data folder. */
async function runCommand(args: string[]): Promise<Ended & { kept: string | null }> {
  const command = [fileURLToPath(new URL('main.ts', import.meta.url)), ...args]
  const data = await createDataFolder()
  const env = { ...process.env, GATEHOUSE_DATA: data }
  const ended = await new Promise<Ended>((resolve) =>
    execFile(process.execPath, command, { env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    ),
  )
  const page = join(data, 'conformance.md')
  const kept = existsSync(page) ? readFileSync(page, 'utf8') : null
  await removeFolder(data)
  return { ...ended, kept }
}

describe('npm run conformance', () => {
  for (const generation of [1, 2] as const) {
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

  it('sees the row fail where nonces are not checked, and no other', async () => {
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    await using target = await startTarget(origin)
    await using broken = await startWithoutNonces(port, target.address)

    const { port: peerPort, origin: peerOrigin = '' } = await peerAtName()
    const { code, stdout, kept } = await runCommand([
      broken.origin,
      '--peer-origin',
      peerOrigin,
      '--peer-port',
      `${peerPort}`,
    ])

    const lines = stdout.split('\n').filter((line) => line.startsWith('| failed'))
    expect(lines.map((line) => line.split(' | ')).map(([, name, , seen]) => [name, seen])).to.deep.equal([
      [
        'X-Federation-Nonce, repeated, absent and of 65 characters',
        'first, repeated, none, too long: [200,200,401,401] instead of [200,409,401,401] |',
      ],
      [
        'deletion with a wrong signature, of no peer, and again with its nonce',
        'status: [401,403,200,200] instead of [401,403,200,409] |',
      ],
    ])
    expect(code).to.equal(1)
    expect(kept).to.equal(`# Conformance of ${broken.origin}, generation 2\n\n${stdout}`)
  })

  it('ends with 2 when it could not begin', async () => {
    const nobody = `http://127.0.0.1:${await freePort()}`

    expect(await runCommand([])).to.deep.include({ code: 2, stdout: '', kept: null })
    const { code, stderr } = await runCommand([nobody])
    expect(code).to.equal(2)
    expect(stderr).to.match(/^http:\/\/127\.0\.0\.1:\d+: fetch failed: connect ECONNREFUSED/)
  })

  it('touches no peer that it has not made', async () => {
    await using target = await startTarget()
    const peer = await peerAtName()
    const em = target.deps.orm.em.fork()
    await em.execute(
      "insert into peers (id, origin, host, secret, status) values (next_snowflake(), ?, 'nova.test', 'x', 'active')",
      [peer.origin],
    )
    const run = { origin: target.address, generation: 2 as const, peer }
    const refusal = (error: unknown) => (error as Error).message

    const refused = await checkConformance(run).catch(refusal)
    await em.execute("update peers set status = 'revoked'")
    const known = await checkConformance({ ...run, adminToken: target.admin.token }).catch(refusal)

    for (const text of [refused, known]) expect(text).to.include('is a peer of the target already')
    expect(await em.execute('select status, secret from peers')).to.deep.equal([{ status: 'revoked', secret: 'x' }])
  })
})
