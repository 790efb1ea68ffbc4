import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createDataFolder, freePort, removeFolder } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { peerAtName, startTarget, testGeneration } from './conformance-tests.ts'
import { checkConformance } from './run.ts'

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
  // conformance.system.test.ts has generation 1.
  testGeneration(2)

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
