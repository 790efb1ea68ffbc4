import { randomUUID } from 'node:crypto'
import { openPeerSecret } from '@gatehouse/auth'
import { signBody } from '@gatehouse/federation-fanout/signature'
import { freePort, answered } from '@gatehouse/test-kit'
import { callApi } from './api.ts'
import { startInstance } from './instance.ts'

export type Place = Awaited<ReturnType<typeof startInstance>> & { origin: string; host: string; adminToken: string }
export type Person = { id: string; username: string; password: string; token: string }

type CallOptions = Parameters<typeof callApi>[2]

/** Two whole instances on loopback, each with a host of its own, that know where to find each other. */
export async function startPair(): Promise<AsyncDisposable & { a: Place; b: Place }> {
  await using opening = new AsyncDisposableStack()
  const ports = { 'a.test': await freePort(), 'b.test': await freePort() }
  const start = async (host: keyof typeof ports) => opening.use(await startPlace(host, ports))
  const [a, b] = [await start('a.test'), await start('b.test')]
  const open = opening.move()
  return { a, b, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function startPlace(host: string, ports: Record<string, number>): Promise<Place> {
  const origin = `http://${host}:${ports[host]}`
  const instance = await startInstance({
    PORT: String(ports[host]),
    PUBLIC_ORIGIN: origin,
    DOMAIN: host,
    TRUST_PROXY: 'loopback',
    FEDERATION_ALLOW_PRIVATE: 'loopback',
    FEDERATION_RESOLVE: Object.entries(ports)
      .map(([name, port]) => `${name}=127.0.0.1:${port}`)
      .join(','),
  })
  // Test databases are copies of one template, and with it of one instanceId.
  await instance.deps.orm.em.fork().execute('update instance_settings set instance_id = gen_random_uuid()')
  const place = { ...instance, origin, host, adminToken: '' }
  const admin = await register(place, 'admin')
  const body = { autoAcceptPeering: true }
  await answered(ask(place, 'PATCH /api/settings/instance', { token: admin.token, body }))
  return Object.assign(place, { adminToken: admin.token })
}

let clients = 0

/** A call of the public API, each from an address of its own, so that the limits of one do not reach the next. */
export async function ask(place: Pick<Place, 'url'>, request: string, options: CallOptions = {}) {
  clients += 1
  const address = `203.0.${clients >> 8}.${clients & 255}`
  return await callApi(place.url, request, { ...options, headers: { 'X-Forwarded-For': address, ...options.headers } })
}

/** A native account, or with `home` the account of somebody who is at home there. */
export async function register(
  place: Pick<Place, 'url'>,
  name: string,
  home?: { place: Place; person: Person },
): Promise<Person & { status: number }> {
  const password = home?.person.password ?? `the password of ${name}`
  const username = home ? `${name}@${home.place.host}` : name
  const identity = home ? { homeInstance: home.place.host, homeUserId: home.person.id } : {}
  const body = { username, password, ...identity }
  const answer = await ask(place, 'POST /api/auth/register', { body })
  const user = answer.body.user as { id: string } | undefined
  return { id: user?.id ?? '', username, password, token: answer.body.token ?? '', status: answer.status }
}

export async function logIn(place: Place, { username, password }: Pick<Person, 'username' | 'password'>) {
  return await ask(place, 'POST /api/auth/login', { body: { username, password } })
}

/** Deletes a person's identities elsewhere, from home. */
export async function fanOut(home: Place, person: Person, deletion: { origins: string[]; mode?: 'soft' | 'full' }) {
  const body = { origins: deletion.origins, mode: deletion.mode ?? 'soft' }
  const { body: answer } = await ask(home, 'POST /api/users/@me/federation-identity/delete', {
    token: person.token,
    body,
  })
  return answer.results as Record<string, { success: boolean; error?: string; ownedSpaces?: unknown[] }>
}

type Signing = {
  /** The instance whose secret for the other one signs; `as` the origin that it claims. */
  secret: string
  as: string
  nonce?: string
  timestamp?: number
  signs?: string
}

/** A request as a peer signs it; the body is sent as it is given. */
export async function askSigned(
  place: { url: string; headers?: object },
  request: string,
  body: string,
  signing: Signing,
) {
  const [method, path] = request.split(' ') as [string, string]
  const headers = signBody({
    secret: signing.secret,
    origin: signing.as,
    body: signing.signs ?? body,
    timestamp: signing.timestamp ?? Date.now(),
    nonce: signing.nonce ?? randomUUID(),
  })
  const response = await fetch(`${place.url}${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers, ...place.headers },
    body,
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** What an instance has stored of its only peer. */
export async function secretFor(place: Place): Promise<string> {
  const [row] = await place.deps.orm.em.fork().execute('select secret from peers')
  return openPeerSecret(place.deps.encryptionKey, (row as { secret: string }).secret)
}
