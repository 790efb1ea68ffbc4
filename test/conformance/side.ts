import { randomUUID } from 'node:crypto'
import type { ReferencePeer } from '../reference-peer/reference-peer.ts'
import { signatureOf } from '../reference-peer/signature.ts'

export type Answer = { status: number; headers: Headers; text: string; body: Record<string, unknown> }

export type Account = { username: string; password: string; token: string; id: string }

/** What a check may use. Only identities that the run has made are written. */
export type Side = {
  origin: string
  generation: 1 | 2
  peer: ReferencePeer
  /** Undefined: a check that needs one does not apply. */
  adminToken: string | undefined
  account: Account | undefined
  /** An account at the target whose home is the reference peer, once a check has made it. */
  replica?: Account & { homeUserId: string; deleted?: boolean }
}

type Call = { token?: string | undefined; body?: unknown; headers?: Record<string, string> }

/** `METHOD /path`. A text is sent as it is. What a limit refuses is sent again once its window is over, within two minutes. */
export async function ask(side: Pick<Side, 'origin'>, request: string, call: Call = {}): Promise<Answer> {
  const answer = await askOnce(side, request, call)
  const seconds = Number(answer.headers.get('retry-after'))
  if (answer.status !== 429 || !(seconds > 0 && seconds <= 120)) return answer
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  return await askOnce(side, request, call)
}

async function askOnce({ origin }: Pick<Side, 'origin'>, request: string, call: Call): Promise<Answer> {
  const [method = 'GET', path = '/'] = request.split(' ')
  const { token, body, headers } = call
  const answer = await fetch(origin + path, {
    method,
    redirect: 'manual',
    signal: AbortSignal.timeout(30_000),
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(token && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, body: objectIn(text) }
}

export type Signing = {
  secret?: string
  timestamp?: number | string
  nonce?: string | null
  /** Replaced, or with undefined left out. */
  headers?: Record<string, string | undefined>
}

/** As the reference peer would sign it. The peer's own sync may be under way: 503 is asked again with another nonce. */
export async function askSigned(side: Side, request: string, body: unknown, signing: Signing = {}): Promise<Answer> {
  const send = () => sendSigned(side, request, body, signing)
  const isBusy = ({ status }: Answer) => status === 503 && signing.nonce === undefined
  let answer = await send()
  for (let tries = 0; isBusy(answer) && tries < 5; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    answer = await send()
  }
  return answer
}

async function sendSigned(side: Side, request: string, body: unknown, signing: Signing): Promise<Answer> {
  const { secret = secretOf(side), nonce = randomUUID(), timestamp = Date.now() } = signing
  const text = JSON.stringify(body)
  const signature = signatureOf(secret, { timestamp: String(timestamp), nonce, body: text })
  const headers = {
    'x-federation-origin': side.peer.origin,
    'x-federation-timestamp': String(timestamp),
    ...(nonce !== null && { 'x-federation-nonce': nonce }),
    'x-federation-signature': signature,
    ...signing.headers,
  }
  const entries = Object.entries(headers).flatMap(([name, value]: [string, string | undefined]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  return await ask(side, request, { body: text, headers: Object.fromEntries(entries) })
}

export function secretOf({ peer, origin }: Side): string {
  const entry = peer.peer(origin)
  return entry?.newSecret ?? entry?.secret ?? '0'.repeat(64)
}

export function isSignedAnswer(side: Side, { headers, text }: Answer): boolean {
  const timestamp = headers.get('x-federation-timestamp') ?? ''
  const nonce = headers.get('x-federation-nonce')
  const entry = side.peer.peer(side.origin)
  const secrets = [entry?.secret, entry?.newSecret].filter((secret) => typeof secret === 'string')
  return secrets.some(
    (secret) => signatureOf(secret, { timestamp, nonce, body: text }) === headers.get('x-federation-signature'),
  )
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Waits for what the target does by itself. Undefined: it did not happen in `ms`. */
export async function waitFor<Value>(look: () => Promise<Value | undefined> | Value | undefined, ms = 20_000) {
  const end = Date.now() + ms
  for (;;) {
    const value = await look()
    if (value !== undefined || Date.now() > end) return value
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** A check ends by one of these, or by what it has seen. */
export class NotApplicable extends Error {}
export class NotAsOnThePage extends Error {}

/** Statuses, or other short words, as they were seen and as the page has them. */
export function same(what: string, actual: unknown, expected: unknown): string {
  const [one, other] = [actual, expected].map((value) => (value === undefined ? 'nothing' : JSON.stringify(value)))
  if (one !== other) throw new NotAsOnThePage(`${what}: ${one} instead of ${other}`)
  return `${what}: ${one}`
}

export function oneOf(what: string, actual: unknown, expected: readonly unknown[]): string {
  if (!expected.includes(actual))
    throw new NotAsOnThePage(`${what}: ${String(actual)} instead of ${expected.join(' or ')}`)
  return `${what}: ${String(actual)}`
}

export function holds(what: string, isSo: boolean): string {
  if (!isSo) throw new NotAsOnThePage(`not so: ${what}`)
  return what
}
