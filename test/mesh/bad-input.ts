import { randomUUID } from 'node:crypto'
import { signatureOf } from '../reference-peer/signature.ts'
import { noteStatus, type Scene } from './calls.ts'
import type { Place } from './places.ts'

type Bad = {
  what: string
  request: string
  body: string
  expected: number
  headers?: Record<string, string>
  secret?: string
  ageMs?: number
  origin?: string
  nonce?: string
}

const relayOf = (origin: string, events: unknown) => JSON.stringify({ version: 1, sourceInstance: origin, events })

/** Requests of an active peer, and of nobody, that are wrong; each answer is the page's. protocol.md 1, 2.2, 3. */
export async function checkBadInput(scene: Scene, place: Place, sender: Place): Promise<void> {
  if (sender.kind !== 'reference') return
  const peer = sender.peer.peer(place.origin)
  const states = (await place.readState()).peers
  if (peer?.status !== 'active' || states.get(sender.origin) !== 'active') return
  const identity = { homeUserId: '1', homeInstance: sender.host, mode: 'soft' }
  const deletion = { request: 'DELETE /api/federation/identity', body: JSON.stringify(identity) }
  const relay = { request: 'POST /api/federation/relay' }
  const nonce = randomUUID()
  const all: Bad[] = [
    { what: 'no headers', ...deletion, headers: {}, expected: 401 },
    { what: 'no headers at epoch', request: 'POST /api/federation/epoch', body: '{}', headers: {}, expected: 400 },
    { what: 'another secret', ...deletion, secret: '0'.repeat(64), expected: 401 },
    { what: 'too old', ...deletion, ageMs: 16 * 60_000, expected: 401 },
    { what: 'from the future', ...deletion, ageMs: -60 * 60_000, expected: 401 },
    { what: 'an unknown peer', ...deletion, origin: 'https://nobody.test', expected: 403 },
    { what: 'somebody unknown', ...deletion, nonce, expected: 200 },
    { what: 'a nonce again', ...deletion, nonce, expected: 409 },
    {
      what: 'an identity of another host',
      ...deletion,
      body: JSON.stringify({ ...identity, homeInstance: 'nobody.test' }),
      expected: 403,
    },
    { what: 'another mode', ...deletion, body: JSON.stringify({ ...identity, mode: 'leave' }), expected: 400 },
    { what: 'no fields', ...deletion, body: '{}', expected: 400 },
    { what: 'no JSON', ...deletion, body: '{', expected: 400 },
    { what: '51 events', ...relay, body: relayOf(sender.origin, Array(51).fill({})), expected: 400 },
    { what: 'events that are no list', ...relay, body: relayOf(sender.origin, {}), expected: 400 },
    {
      what: 'a sync with a limit of 0',
      request: 'POST /api/federation/sync',
      body: '{"sinceTimestamp":0,"limit":0}',
      expected: 400,
    },
    {
      what: 'a secret that is none',
      request: 'POST /api/federation/peer/rotate',
      body: '{"newSecret":"short"}',
      expected: 400,
    },
    { what: 'an offer of nobody', request: 'POST /api/federation/peer/accept', body: '{}', headers: {}, expected: 400 },
  ]
  for (const bad of all) {
    const status = await send(scene, place, bad, { origin: sender.origin, secret: peer.secret })
    if (status === null) return
    scene.journal.count('bad requests')
    noteStatus(scene, `${place.name}: ${bad.what}`, status)
    // `noteStatus` judges what the server did not decide.
    if (status !== bad.expected && status !== 429 && status < 500) {
      scene.journal.violations.push(`${place.name}: ${bad.what} was answered with ${status}, not ${bad.expected}`)
    }
  }
}

async function send(scene: Scene, place: Place, bad: Bad, peer: { origin: string; secret: string }) {
  const [method, path] = bad.request.split(' ') as [string, string]
  const timestamp = String(scene.clock.now() - (bad.ageMs ?? 0))
  const nonce = bad.nonce ?? randomUUID()
  const signature = signatureOf(bad.secret ?? peer.secret, { timestamp, nonce, body: bad.body })
  const headers = bad.headers ?? {
    'X-Federation-Origin': bad.origin ?? peer.origin,
    'X-Federation-Timestamp': timestamp,
    'X-Federation-Nonce': nonce,
    'X-Federation-Signature': signature,
  }
  try {
    const options = { method, headers: { 'Content-Type': 'application/json', ...headers }, body: bad.body }
    const response = await fetch(`${place.url()}${path}`, options)
    await response.text()
    return response.status
  } catch {
    return null
  }
}
