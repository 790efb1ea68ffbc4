import { randomBytes, randomUUID } from 'node:crypto'
import { holds, isSignedAnswer, NotApplicable, oneOf, same, ask, askSigned, secretOf, type Side } from './side.ts'
import type { Check } from './run.ts'

const accept = 'POST /api/federation/peer/accept'
const epoch = 'POST /api/federation/epoch'
const relay = 'POST /api/federation/relay'
const sync = 'POST /api/federation/sync'
const identity = 'DELETE /api/federation/identity'
const rotate = 'POST /api/federation/peer/rotate'
const denied = 'POST /api/federation/peer/denied'
const lookup = 'POST /api/federation/users/lookup'
const byHomeId = 'POST /api/federation/users/by-home-id'
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const pull = { sinceTimestamp: Date.now(), limit: 1 }
const nobody = '9223372036854775807'

/** One after another. */
async function statuses(requests: (() => Promise<{ status: number }>)[]): Promise<number[]> {
  const results: number[] = []
  for (const request of requests) results.push((await request()).status)
  return results
}

/** Who needs no peering. */
export const unsignedChecks: Check[] = [
  {
    name: 'instance/info',
    rows: ['6.1 peer/accept, epoch, instance/info'],
    run: async (side) => {
      const { status, body } = await ask(side, 'GET /api/instance/info')
      const isName = typeof body.name === 'string' && body.name.length <= 32
      holds('name has at most 32 characters, instanceId is a UUID', isName && uuid.test(String(body.instanceId)))
      holds('federatedRegistrationOpen is a boolean', typeof body.federatedRegistrationOpen === 'boolean')
      return `${same('status', status, 200)}, version ${String(body.version)}`
    },
  },
  {
    name: 'info: the booleans of the directory',
    rows: ['6.1 peer/accept, epoch, instance/info'],
    generation: 2,
    run: async (side) => {
      const { body } = await ask(side, 'GET /api/instance/info')
      const names = ['directoryConfigured', 'directoryAvailable', 'directoryEnabled', 'supportCardEnabled']
      const flags = names.map((name) => body[name])
      if (flags.every((value) => value === undefined)) return 'absent'
      return holds(
        `booleans: ${flags.join(', ')}`,
        flags.every((value) => typeof value === 'boolean'),
      )
    },
  },
  {
    name: 'accept without a secret, or from no origin',
    rows: ['6.1 peer/accept, epoch, instance/info'],
    run: async (side) => {
      const offers = [{ sourceOrigin: side.peer.origin }, { sourceOrigin: 'ftp://else.example', hmacSecret: 'a' }]
      return same('status', await statuses(offers.map((body) => () => ask(side, accept, { body }))), [400, 400])
    },
  },
  {
    name: 'requests of an origin that is no peer',
    rows: ['1.2 X-Federation-Origin', '6.1 peer/denied, received'],
    run: async (side) => {
      const signing = { secret: 'f'.repeat(64), headers: { 'x-federation-origin': 'https://nobody.invalid' } }
      const results = await statuses([
        () => askSigned(side, sync, pull, signing),
        () => askSigned(side, epoch, {}, signing),
        () => askSigned(side, denied, { origin: 'https://nobody.invalid', reason: 'expired', message: '' }, signing),
      ])
      const [denial, ...rest] = results.reverse()
      // Advice of the page: 2xx also where nothing waits.
      return `${same('epoch, sync', rest, [403, 403])}, ${oneOf('denied', denial, [404, 200])}`
    },
  },
  {
    name: 'login of nobody',
    rows: ['5.3 401'],
    run: async (side) => {
      const body = { username: `nobody_${randomBytes(6).toString('hex')}`, password: randomUUID() }
      const answer = await ask(side, 'POST /api/auth/login', { body })
      if (side.generation === 1) return same('status', answer.status, 401)
      return same('status and code', [answer.status, answer.body.code ?? null], [401, 'invalid_credentials'])
    },
  },
]

/** Of an active peer. */
export const signedChecks: Check[] = [
  {
    name: 'a second offer of a peer, with another secret',
    rows: ['2.2 active, needs_attention', '2.2 unreachable', '2.2 409 PEER_EXISTS'],
    run: async (side) => {
      const [sourceOrigin, instanceId] = [side.peer.origin, side.peer.instanceId()]
      const body = { sourceOrigin, hmacSecret: randomBytes(32).toString('hex'), instanceId }
      const answer = await ask(side, accept, { body })
      if (side.generation === 1 && answer.status === 202) return 'status: 202, as where an admin is asked'
      const results = [answer.status, answer.body.code, answer.body.accepted]
      const shown = same('409 with its code', results, [409, 'PEER_EXISTS_RESET_REQUIRED', false])
      const after = await askSigned(side, sync, pull)
      return `${shown}; the secret stays: ${same('sync', after.status, 200)}`
    },
  },
  {
    name: 'epoch is answered signed, without an origin',
    rows: ['6.1 peer/accept, epoch, instance/info'],
    run: async (side) => {
      const answer = await askSigned(side, epoch, {})
      same('status', answer.status, 200)
      holds('signed', isSignedAnswer(side, answer))
      holds('no X-Federation-Origin', answer.headers.get('x-federation-origin') === null)
      const info = await ask(side, 'GET /api/instance/info')
      return `signed; ${same('instanceId of info', answer.body.instanceId, info.body.instanceId)}`
    },
  },
  {
    name: 'epoch without headers, and with a wrong signature',
    rows: ['1.2 X-Federation-Signature'],
    run: async (side) => {
      const results = await statuses([
        () => ask(side, epoch, { body: {} }),
        () => askSigned(side, epoch, {}, { secret: 'e'.repeat(64) }),
      ])
      return same('status', results, [400, 401])
    },
  },
  {
    name: 'X-Federation-Origin, blank and absent',
    rows: ['1.2 X-Federation-Origin'],
    run: async (side) => {
      const origins = [' ', undefined].map((origin) => ({ headers: { 'x-federation-origin': origin } }))
      return same(
        'sync',
        await statuses(origins.map((signing) => () => askSigned(side, sync, pull, signing))),
        [401, 401],
      )
    },
  },
  {
    name: 'X-Federation-Timestamp, in and out of its 15 minutes',
    rows: ['1.2 X-Federation-Timestamp'],
    run: async (side) => {
      const minute = 60_000
      const times = [-14, 14, -16, 16].map((minutes) => Date.now() + minutes * minute)
      const results = await statuses(
        [...times, 'now', '0'].map((timestamp) => () => askSigned(side, sync, pull, { timestamp })),
      )
      return same('14 min either side, 16 min, no number, 0', results, [200, 200, 401, 401, 401, 401])
    },
  },
  {
    name: 'X-Federation-Nonce, repeated, absent and of 65 characters',
    rows: ['1.2 X-Federation-Nonce'],
    run: async (side) => {
      const repeated = { nonce: randomUUID() }
      const nonces = [repeated, repeated, { nonce: null }, { nonce: 'n'.repeat(65) }]
      const results = await statuses(nonces.map((signing) => () => askSigned(side, sync, pull, signing)))
      return same('first, repeated, none, too long', results, [200, 409, 401, 401])
    },
  },
  {
    name: 'X-Federation-Signature, in other cases',
    rows: ['1.2 X-Federation-Signature'],
    run: async (side) => {
      const [timestamp, text] = [Date.now(), JSON.stringify(pull)]
      const { signatureOf } = await import('../reference-peer/signature.ts')
      const results: number[] = []
      for (const change of [
        (digits: string) => `sha256=${digits.toUpperCase()}`,
        (digits: string) => `SHA256=${digits}`,
        (digits: string) => digits,
      ]) {
        const nonce = randomUUID()
        const message = { timestamp: String(timestamp), nonce, body: text }
        const signature = change(signatureOf(secretOf(side), message).slice('sha256='.length))
        const headers = { 'x-federation-signature': signature }
        results.push((await askSigned(side, sync, pull, { timestamp, nonce, headers })).status)
      }
      return same('upper-case digits, upper-case prefix, no prefix', results, [200, 401, 401])
    },
  },
  {
    name: 'Content-Type of another kind',
    rows: ['1.2 Content-Type'],
    run: async (side) => {
      const { status } = await askSigned(side, sync, pull, { headers: { 'content-type': 'text/plain' } })
      return same('status', status, 415)
    },
  },
  ...relayChecks(),
  {
    name: 'sync of each context',
    rows: ['6.1 sync'],
    run: async (side) => {
      const contexts = [undefined, 'friend', 'profile', ...(side.generation === 2 ? ['dm'] : [])]
      for (const contextType of contexts) {
        const { status, body } = await askSigned(side, sync, { ...pull, limit: 100, contextType })
        same(`status of ${contextType ?? 'none'}`, status, 200)
        holds('events, hasMore and checkpoint', Array.isArray(body.events) && typeof body.hasMore === 'boolean')
        holds('checkpoint is a time', Number.isInteger(body.checkpoint))
      }
      return `200 for ${contexts.map((contextType) => contextType ?? 'none').join(', ')}`
    },
  },
  {
    name: 'sync goes on after an id',
    rows: ['0 2026-09-29'],
    generation: 2,
    run: async (side) => {
      const body = { ...pull, sinceTimestamp: Date.now() + 60_000, afterId: '7', contextType: 'profile' }
      const answer = await askSigned(side, sync, body)
      return same('status, events', [answer.status, answer.body.events], [200, []])
    },
  },
  {
    name: 'lookups of nobody',
    rows: ['6.1 users/lookup, by-home-id'],
    run: async (side) => {
      const name = await askSigned(side, lookup, { username: `nobody_${randomBytes(6).toString('hex')}` })
      const id = await askSigned(side, byHomeId, { homeUserId: nobody })
      const [first, second] = [name, id].map(({ status, body }) => [status, body.found])
      return `${same('lookup', first, [404, false])}, ${same('by-home-id', second, [200, false])}`
    },
  },
  {
    name: 'lookups of the account of the run',
    rows: ['6.1 users/lookup, by-home-id'],
    run: async (side) => {
      if (!side.account) throw new NotApplicable('needs --user')
      const byName = (await askSigned(side, lookup, { username: side.account.username })).body.user
      const byId = (await askSigned(side, byHomeId, { homeUserId: side.account.id })).body.user
      const [one, other] = [byName, byId] as { homeUserId?: string; profile?: Record<string, unknown> }[]
      same('homeUserId', [one?.homeUserId, other?.homeUserId], [side.account.id, side.account.id])
      const newer = ['accentColor', 'profileUpdatedAt'].filter((field) => field in (other?.profile ?? {}))
      if (side.generation === 1) return 'found by both'
      return same('fields of the second generation', newer, ['accentColor', 'profileUpdatedAt'])
    },
  },
  {
    name: 'deletion of an identity that nobody has',
    rows: ['3.1 200 {"success":true}', '6.1 DELETE identity'],
    run: async (side) => {
      const body = { homeUserId: nobody, homeInstance: new URL(side.peer.origin).hostname, mode: 'soft' }
      const { status, body: said } = await askSigned(side, identity, body)
      return same('answer', [status, said.success], [200, true])
    },
  },
  {
    name: 'deletion with another mode, and without a field',
    rows: ['3.1 400'],
    run: async (side) => {
      const homeInstance = new URL(side.peer.origin).hostname
      const bodies = [
        { homeUserId: nobody, homeInstance, mode: 'leave' },
        { homeInstance, mode: 'soft' },
      ]
      return same('status', await statuses(bodies.map((body) => () => askSigned(side, identity, body))), [400, 400])
    },
  },
  {
    name: 'deletion with a wrong signature, of no peer, and again with its nonce',
    rows: ['3.1 403'],
    run: async (side) => {
      const body = { homeUserId: nobody, homeInstance: new URL(side.peer.origin).hostname, mode: 'soft' }
      const repeated = { nonce: randomUUID() }
      const others = [{ secret: 'e'.repeat(64) }, { headers: { 'x-federation-origin': 'https://nobody.invalid' } }]
      const results = await statuses(
        [...others, repeated, repeated].map((each) => () => askSigned(side, identity, body, each)),
      )
      return same('status', results, [401, 403, 200, 409])
    },
  },
  {
    name: 'denied by a peer that was asked nothing',
    rows: ['6.1 peer/denied, received'],
    run: async (side) => {
      const body = { origin: side.peer.origin, reason: 'denied_by_admin', message: 'A check' }
      const headers = Object.fromEntries(
        ['origin', 'timestamp', 'signature'].map((name) => [`x-federation-${name}`, '']),
      )
      const results = await statuses([() => ask(side, denied, { body, headers }), () => askSigned(side, denied, body)])
      return `${same('without headers', results[0], 401)}, ${oneOf('active', results[1], [409, 200])}`
    },
  },
  {
    name: 'a proof of attachment that nobody issued',
    rows: ['6.1 verify-attach-proof, auth/attach-proof', '0 2026-07-03'],
    run: async (side) => {
      const token = randomBytes(32).toString('hex')
      const answer = await askSigned(side, 'POST /api/federation/verify-attach-proof', { token })
      holds('signed', isSignedAnswer(side, answer))
      return `signed, ${same('answer', [answer.status, answer.body.valid], [200, false])}`
    },
  },
  {
    name: 'rotation: a malformed secret, then a new one',
    rows: ['2.8 receiver of peer/rotate (signed: old secret)', '6.1 peer/rotate'],
    run: async (side) => {
      const malformed = await askSigned(side, rotate, { newSecret: 'A'.repeat(64) })
      const rotated = await side.peer.rotate(side.origin)
      const entry = side.peer.peer(side.origin)!
      const results = await statuses(
        [entry.secret, entry.newSecret ?? ''].map((secret) => () => askSigned(side, sync, pull, { secret })),
      )
      const all = [malformed.status, rotated.status, ...results]
      return same('malformed, rotated, old, new', all, [400, 200, 200, 200])
    },
  },
]

const finalReasons = [
  'duplicate',
  'recipient_not_found',
  'attribution_mismatch',
  'unknown_event_type',
  'self_target_invalid',
  'not_message_author',
  'system_message_immutable',
  'invalid_system_message',
  'invalid_target',
  'source_peer_mismatch',
  'unknown_message',
]

function relayChecks(): Check[] {
  const event = (eventType: string) => ({
    eventType,
    contextType: 'dm',
    messageId: randomUUID(),
    encryptionVersion: 0,
    timestamp: Date.now(),
  })
  const post = async (side: Side, events: unknown[], sourceInstance = side.peer.origin) => {
    const body = { version: 1, sourceInstance, sourceInstanceId: side.peer.instanceId(), events }
    return await askSigned(side, relay, body)
  }
  type Verdicts = { messageId: string; reason: string }[]
  const types: [row: string, types: string[]][] = [
    [
      'profile_update',
      ['presence_update', 'read_state_update', 'dm_close', 'reaction_add', 'dm_typing_start', 'delete'],
    ],
    ['friend_request_create', ['friend_request_create']],
    ['create', ['create']],
    ['dm_call_start', ['dm_call_start']],
    ['unknown types', ['of_no_generation']],
  ]
  return [
    ...types.map(([row, eventTypes]): Check => ({
      name: `relay of ${eventTypes.join(', ')}`,
      rows: [`6.2 ${row}`],
      run: async (side) => {
        const events = eventTypes.map(event)
        const { status, body } = await post(side, events)
        same('status', status, 200)
        const [accepted, rejected, undeliverable = []] = [body.accepted, body.rejected, body.undeliverable] as [
          string[],
          Verdicts,
          Verdicts | undefined,
        ]
        holds('accepted and rejected are there', Array.isArray(accepted) && Array.isArray(rejected))
        const verdicts = events.map(({ messageId }) => {
          const refusal = [...rejected, ...undeliverable].find((each) => each.messageId === messageId)
          if (accepted.includes(messageId)) return 'accepted'
          if (refusal && undeliverable.includes(refusal)) return `undeliverable: ${refusal.reason}`
          return refusal ? refusal.reason : 'left out'
        })
        const isOver = (verdict: string) =>
          /^(accepted|undeliverable: .*)$/.test(verdict) || finalReasons.includes(verdict)
        if (row === 'unknown types') return same('verdict', verdicts, ['unknown_event_type'])
        return holds(`ended by ${[...new Set(verdicts)].join(', ')}`, verdicts.every(isOver))
      },
    })),
    {
      name: 'relay of 51 events',
      rows: ['1.5 body'],
      run: async (side) => {
        const { status } = await post(
          side,
          Array.from({ length: 51 }, () => event('dm_typing_start')),
        )
        return same('status', status, 400)
      },
    },
    {
      name: 'relay for another source than the signer',
      rows: ['0 2026-09-02'],
      generation: 2,
      run: async (side) => {
        const { status, body } = await post(side, [event('dm_typing_start')], 'https://else.invalid')
        const error = 'sourceInstance does not match the authenticated peer'
        return same('answer', [status, body.error], [403, error])
      },
    },
    {
      name: "presence of another instance's user",
      rows: ['6.1 relay'],
      run: async (side) => {
        const presenceUpdate = {
          homeUserId: '7',
          homeInstance: 'https://else.invalid',
          status: 'online',
          ts: Date.now(),
        }
        const { status, body } = await post(side, [
          { ...event('presence_update'), contextType: 'profile', presenceUpdate },
        ])
        same('status', status, 200)
        const [verdict] = (body.rejected ?? []) as Verdicts
        return oneOf('verdict', verdict?.reason, ['attribution_mismatch'])
      },
    },
  ]
}
