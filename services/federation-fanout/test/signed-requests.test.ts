import { randomUUID } from 'node:crypto'
import { isReceiptGenuine } from '@gatehouse/auth'
import { deleteFederatedIdentity, refusals, resolveReplicatedUser, type KeptReceipt } from '@gatehouse/contracts'
import type { z } from 'zod'
import { refuse } from '@gatehouse/runtime'
import { expect } from 'chai'
import { readSignature, verifySignature } from '../src/peers/signature.ts'
import { deleteExpired } from '../src/maintenance/run-due.ts'
import { buildPeer, secretOfPeer, sendAsPeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

const minute = 60_000

describe('signed requests of peers', () => {
  let instance: TestInstance
  const peer = { origin: 'https://home.example', host: 'home.example', secret: secretOfPeer }
  const deletion = { homeUserId: '77', homeInstance: 'home.example', mode: 'soft' as const }
  const path = '/api/federation/identity'
  let asked: unknown[]

  const remove = (signing: Partial<Parameters<typeof sendAsPeer>[2]> = {}, body: object | string | Buffer = deletion) =>
    sendAsPeer(instance, ['DELETE', path, body], { ...peer, ...signing })

  const answerDeletions = (answer: () => z.infer<typeof deleteFederatedIdentity.reply>) =>
    instance.deps.bus.respond(deleteFederatedIdentity, async (request) => {
      asked.push(request)
      return answer()
    })

  before(async () => {
    instance = await startTestInstance('here')
    await buildPeer(instance, peer)
    await buildPeer(instance, { host: 'waiting.example', status: 'pending' })
    await buildPeer(instance, { host: 'revoked.example', status: 'revoked' })
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(() => (asked = []))

  it('are carried out when the signature holds', async () => {
    await using _answering = await answerDeletions(() => ({ outcome: 'deleted' }))

    const answer = await remove()

    expect([answer.status, answer.body['success']]).to.deep.equal([200, true])
    expect(asked).to.deep.equal([deletion])
  })

  /** Contract: 7, Receipts. */
  it('are answered with a receipt by the key that anybody can ask for', async () => {
    await using _answering = await answerDeletions(() => ({ outcome: 'absent' }))

    const { receipt, signature } = (await remove()).body as unknown as KeptReceipt
    const published = await instance.call('GET', '/api/federation/receipt-keys')
    const [publicKey = ''] = published.body['keys'] as string[]

    const { homeUserId, mode } = deletion
    const { origin } = instance
    expect(receipt).to.deep.equal({ homeUserId, mode, deletedAt: instance.clock.now(), origin })
    expect(isReceiptGenuine({ receipt, signature, publicKey })).to.equal(true)
  })

  it('need not name the type of their body', async () => {
    await using _answering = await answerDeletions(() => ({ outcome: 'deleted' }))

    expect((await remove({ headers: { 'content-type': '' } })).status).to.equal(200)
  })

  it('are carried out again for an identity that is gone or never was here', async () => {
    await using _answering = await answerDeletions(() => ({ outcome: 'absent' }))

    expect((await remove()).status).to.equal(200)
  })

  it('are 401 without their headers and with malformed ones', async () => {
    const answers = await Promise.all([
      remove({ headers: { 'x-federation-nonce': undefined } }),
      remove({ headers: { 'x-federation-origin': undefined } }),
      remove({ nonce: 'x'.repeat(65) }),
      remove({ headers: { 'x-federation-timestamp': 'yesterday' } }),
    ])

    expect(answers.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401])
  })

  it('are 401 when anything that was signed differs', async () => {
    const body = JSON.stringify(deletion)
    const answers = await Promise.all([
      remove({ secret: 'b'.repeat(64) }),
      remove({ signs: body }, body.replace('soft', 'full')),
      remove({ signs: body }, body.replaceAll(',', ', ')),
      remove({ signs: body }, `${body}\n`),
      remove({ headers: { 'x-federation-timestamp': String(instance.clock.now() + 1) } }),
      remove({ headers: { 'x-federation-nonce': randomUUID() } }),
    ])

    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 401))
    expect(asked).to.deep.equal([])
  })

  it('are accepted from clocks that are off by a quarter of an hour and no more', async () => {
    await using _answering = await answerDeletions(() => ({ outcome: 'deleted' }))
    const off = (ms: number) => remove({ timestamp: instance.clock.now() + ms })

    const answers = await Promise.all([
      off(15 * minute),
      off(-15 * minute),
      off(15 * minute + 1),
      off(-15 * minute - 1),
    ])

    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 401, 401])
  })

  it('read the same from a stranger, and with a wrong secret from a peer that waits or was revoked', async () => {
    const strangers = ['stranger.example', 'waiting.example', 'revoked.example']

    const answers = await Promise.all(
      strangers.map((host) => remove({ origin: `https://${host}`, secret: 'e'.repeat(64) })),
    )

    expect(answers.map(({ status }) => status)).to.deep.equal([403, 403, 403])
    expect(new Set(answers.map(({ bytes }) => bytes.toString())).size).to.equal(1)
  })

  it('find their peer however its origin is spelled', async () => {
    await using _answering = await answerDeletions(() => ({ outcome: 'deleted' }))

    const answers = [
      await remove({ origin: 'HTTPS://Home.Example:443/' }),
      await remove({}, { ...deletion, homeInstance: 'Home.Example:8443' }),
    ]

    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
    expect(asked).to.deep.equal([deletion, deletion])
  })

  /** Contract: 7, identity. */
  it('may speak for users of their own host only, and a request that we signed proves nothing to us', async () => {
    const foreign = await remove({}, { ...deletion, homeInstance: 'other.example' })
    const reflected = await remove({}, { ...deletion, homeInstance: instance.host })

    expect([foreign.status, reflected.status]).to.deep.equal([403, 403])
    expect(asked).to.deep.equal([])
  })

  it('count once, whichever replica gets them and however many come at a time', async () => {
    await using _answering = await answerDeletions(() => ({ outcome: 'deleted' }))
    await using replica = await startTestInstance('here', {
      databaseUrl: instance.databaseUrl,
      resources: { bus: instance.deps.bus, clock: instance.clock },
    })
    const nonce = randomUUID()
    const attempts = Array.from({ length: 16 }, (_, index) =>
      sendAsPeer(index % 2 ? replica : instance, ['DELETE', path, deletion], { ...peer, nonce }),
    )

    const statuses = (await Promise.all(attempts)).map(({ status }) => status)

    expect(statuses.filter((status) => status === 200)).to.have.length(1)
    expect(statuses.filter((status) => status === 409)).to.have.length(15)
    expect(asked).to.have.length(1)
    expect((await remove({ nonce })).status).to.equal(409)
  })

  it('may use a nonce that another peer has used, and one that a stranger tried to use up', async () => {
    await using _answering = await answerDeletions(() => ({ outcome: 'deleted' }))
    const other = await buildPeer(instance, { host: 'second.example', secret: 'c'.repeat(64) })
    const nonce = randomUUID()

    await remove({ nonce, secret: 'd'.repeat(64) })
    const ours = await remove({ nonce })
    const theirs = await sendAsPeer(instance, ['DELETE', path, { ...deletion, homeInstance: other.host }], {
      ...other,
      nonce,
    })

    expect([ours.status, theirs.status]).to.deep.equal([200, 200])
  })

  it('are remembered for as long as they could be accepted again, and then forgotten', async () => {
    await using _answering = await answerDeletions(() => ({ outcome: 'deleted' }))
    const count = async () => {
      const [row] = await instance.deps.orm.em
        .fork()
        .execute('select count(*)::integer as count from federation_nonces')
      return (row as { count: number }).count
    }
    const signing = { nonce: randomUUID(), timestamp: instance.clock.now() + 15 * minute }
    await remove(signing)

    instance.clock.advance(30 * minute)
    await deleteExpired(instance.deps)
    const replayed = await remove(signing)
    instance.clock.advance(1)
    await deleteExpired(instance.deps)

    expect(replayed.status).to.equal(409)
    expect(await count()).to.equal(0)
  })

  it('are 503 while identity cannot be asked, and the very same request works afterwards', async () => {
    const signing = { nonce: randomUUID(), timestamp: instance.clock.now() }

    const refused = await remove(signing)
    await using _answering = await answerDeletions(() => ({ outcome: 'deleted' }))
    const accepted = await remove(signing)
    const replayed = await remove(signing)

    expect(refused.headers.get('retry-after')).to.match(/^\d+$/)
    expect([refused.status, accepted.status, replayed.status]).to.deep.equal([503, 200, 409])
    expect(asked).to.have.length(1)
  })

  it('name the spaces that stand in the way', async () => {
    const ownedSpaces = [{ id: '5', name: 'Garden' }]
    await using _answering = await answerDeletions(() => {
      throw refuse.owns_spaces({ fields: { ownedSpaces } })
    })

    const answer = await remove()

    expect(answer.status).to.equal(409)
    expect(answer.body).to.deep.equal({ error: 'owns_spaces', ownedSpaces, statusCode: 409, code: 'owns_spaces' })
  })

  it('name the further service that must be asked about spaces first and does not answer', async () => {
    let isSilent = true
    await using _answering = await answerDeletions(() => {
      if (!isSilent) return { outcome: 'deleted' }
      throw refuse.upstream_unavailable({ fields: { upstream: 'voice' }, headers: { 'Retry-After': '5' } })
    })
    const signing = { nonce: randomUUID() }

    const refused = await remove(signing)
    isSilent = false
    const repeated = await remove(signing)

    expect([refused.status, refused.headers.get('retry-after'), repeated.status]).to.deep.equal([503, '5', 200])
    expect(refused.body).to.include({ code: 'upstream_unavailable', upstream: 'voice' })
  })

  it('are 400, 413 or 415 when their body is none that can be read', async () => {
    const big = JSON.stringify({ ...deletion, note: 'x'.repeat(70_000) })
    const answers = [
      await remove({}, '{"homeUserId":'),
      await remove({}, '[]'),
      await remove({}, Buffer.from([0x7b, 0xff, 0x7d])),
      await remove({}, { ...deletion, mode: 'half' }),
      await remove({}, { ...deletion, homeUserId: 'a\0b' }),
      await remove({}, big),
      await remove({ headers: { 'transfer-encoding': 'chunked' } }, big),
      await remove({ headers: { 'content-type': 'text/plain' } }),
      await remove({ headers: { 'content-encoding': 'gzip' } }),
    ]

    expect(answers.map(({ status }) => status)).to.deep.equal([400, 400, 400, 400, 400, 413, 413, 415, 415])
    expect(answers.every(({ body }) => typeof body.error === 'string')).to.equal(true)
  })

  it('are counted by outcome', async () => {
    const { text } = await instance.deps.metrics.render()

    expect(text).to.match(/gatehouse_federation_signed_requests_total\{outcome="replayed"\} [1-9]/)
    expect(text).to.match(/gatehouse_federation_signed_requests_total\{outcome="accepted"\} [1-9]/)
  })

  describe('for the proof of a secret', () => {
    const prove = (signing: Partial<Parameters<typeof sendAsPeer>[2]> = {}) =>
      sendAsPeer(instance, ['POST', '/api/federation/epoch', '{}'], { ...peer, ...signing })

    it('are answered with a signature of our own', async () => {
      const answer = await prove()
      const signed = readSignature(Object.fromEntries(answer.headers))!
      const now = instance.clock.now()

      expect(answer.status).to.equal(200)
      expect(answer.body).to.have.all.keys('instanceId')
      expect(answer.headers.has('x-federation-origin')).to.equal(false)
      expect(verifySignature({ secrets: [peer.secret], body: answer.bytes, signed, now }).verdict).to.equal('ok')
    })

    it('are answered for a peer that waits, and not for one that was revoked', async () => {
      const waiting = await prove({ origin: 'https://waiting.example' })
      const revoked = await prove({ origin: 'https://revoked.example' })

      expect([waiting.status, revoked.status]).to.deep.equal([200, 403])
    })

    /** Contract: 7, Refused requests. */
    it('are 400 without the headers, 401 with malformed ones or a wrong signature, and count once', async () => {
      const nonce = randomUUID()
      const answers = [
        await instance.call('POST', '/api/federation/epoch', { body: {} }),
        await prove({ headers: { 'x-federation-nonce': undefined } }),
        await prove({ headers: { 'x-federation-nonce': 'x'.repeat(65) } }),
        await prove({ secret: 'b'.repeat(64) }),
        await prove({ nonce }),
        await prove({ nonce }),
      ]

      expect(answers.map(({ status }) => status)).to.deep.equal([400, 400, 401, 401, 200, 409])
    })
  })

  /** Contract: 7, Stubs. */
  describe('for a stub', () => {
    const wanted = { homeUserId: '77', homeInstance: 'home.example', username: 'rosa', displayName: 'Rosa' }
    const resolve = (body: object = wanted) =>
      sendAsPeer(instance, ['POST', '/api/federation/stubs', body], { ...peer })
    const answerStubs = (answer: () => z.infer<typeof resolveReplicatedUser.reply>) =>
      instance.deps.bus.respond(resolveReplicatedUser, async (request) => {
        asked.push(request)
        return answer()
      })

    it('get the account that is there, or a new one', async () => {
      let created = true
      await using _answering = await answerStubs(() => ({ id: '900', created }))
      const made = await resolve()
      created = false
      const found = await resolve({ ...wanted, homeInstance: 'HOME.example' })

      expect([made.status, made.body]).to.deep.equal([201, { id: '900' }])
      expect([found.status, found.body]).to.deep.equal([200, { id: '900' }])
      expect(asked).to.deep.equal([wanted, wanted])
    })

    it('are 404 for an identity that was deleted, and 403 for one of another host', async () => {
      await using _answering = await answerStubs(() => {
        throw refuse.not_found()
      })

      const deleted = await resolve()
      const foreign = await resolve({ ...wanted, homeInstance: 'other.example' })

      expect([deleted.status, foreign.status]).to.deep.equal([404, 403])
    })

    for (const code of ['home_instance_invalid', 'username_taken'] as const) {
      it(`are refused with ${code} as identity refuses`, async () => {
        await using _answering = await answerStubs(() => {
          throw refuse[code]()
        })

        const { status, body } = await resolve()

        expect([status, body['code']]).to.deep.equal([refusals[code].status, code])
      })
    }
  })
})
