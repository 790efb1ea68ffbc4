import { randomBytes } from 'node:crypto'
import { Agent } from 'undici'
import type { CompareOptions } from './options.ts'

/** An instance under load, with the account that the load uses. Dispose deletes the account if it was made for this. */
export type ComparedInstance = AsyncDisposable & {
  origin: string
  /** Name and version, as the instance tells them. */
  label: string
  account: { username: string; password: string }
  token: string
  request: (question: Question) => Promise<Answer>
}

export type Question = { method: string; path: string; token?: string; body?: object }
/** `body` is null where the answer is no JSON. */
export type Answer = { status: number; retryAfter: string | undefined; body: Record<string, unknown> | null }

type Credentials = ComparedInstance['account'] & { token: string }
type Print = (line: string) => void

const requestLimitMs = 15_000

/** Opens an instance and gets a token for it. Throws with a sentence that names the instance and what to do. */
export async function openInstance(
  origin: string,
  options: Pick<CompareOptions, 'account' | 'isForwarded'>,
  print: Print,
): Promise<ComparedInstance> {
  await using opening = new AsyncDisposableStack()
  const agent = opening.adopt(createAgent(), (open) => open.destroy())
  const request = createRequest(origin, { agent, isForwarded: options.isForwarded })
  const info = await readInfo(origin, request)
  const credentials = options.account
    ? await logIn(origin, request, options.account)
    : await registerAccount(origin, request, info.registrationOpen)
  if (!options.account) {
    print(`${origin}: registered ${credentials.username} for this, and deletes it at the end`)
    opening.defer(() => deleteAccount(origin, request, { credentials, print }))
  }
  const { token, ...account } = credentials
  const open = opening.move()
  const label = [info.name, info.version].filter(Boolean).join(' ')
  return { origin, label, account, token, request, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

function createAgent(): Agent {
  return new Agent({ connections: 64, headersTimeout: requestLimitMs, bodyTimeout: requestLimitMs })
}

function createRequest(origin: string, { agent, isForwarded }: { agent: Agent; isForwarded: boolean }) {
  let requests = 0
  return async ({ method, path, token, body }: Question): Promise<Answer> => {
    requests += 1
    const answer = await agent.request({
      origin,
      path,
      method: method,
      headers: {
        // Of the network for benchmarks, 198.18.0.0/15.
        ...(isForwarded && { 'x-forwarded-for': `198.18.${(requests >> 8) & 255}.${requests & 255}` }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body ? JSON.stringify(body) : null,
    })
    const text = await answer.body.text()
    const retryAfter = answer.headers['retry-after']
    return { status: answer.statusCode, retryAfter: retryAfter && String(retryAfter), body: parseObject(text) }
  }
}

type Request = ComparedInstance['request']

async function readInfo(origin: string, request: Request) {
  const answer = await request({ method: 'GET', path: '/api/instance/info' }).catch((error: unknown) => {
    throw new Error(`${origin} cannot be reached: ${describe(error)}`)
  })
  const { name, version, registrationOpen } = answer.body ?? {}
  if (answer.status !== 200 || typeof registrationOpen !== 'boolean') {
    throw new Error(
      `${origin} is no instance: GET /api/instance/info answered ${answer.status} without what it says of one`,
    )
  }
  return { name: String(name), version: version === undefined ? '' : String(version), registrationOpen }
}

async function registerAccount(origin: string, request: Request, isOpen: boolean): Promise<Credentials> {
  const remedy = 'name an account with --username, its password in BENCH_PASSWORD'
  if (!isOpen) throw new Error(`${origin}: registration is closed; ${remedy}`)
  const account = {
    username: `bench_${randomBytes(4).toString('hex')}`,
    password: randomBytes(18).toString('base64url'),
  }
  const answer = await request({ method: 'POST', path: '/api/auth/register', body: account })
  if (answer.status === 429)
    throw new Error(`${origin}: too many registrations, again in ${answer.retryAfter} s, or ${remedy}`)
  if (answer.status !== 201) throw new Error(`${origin}: registration was refused, ${reasonOf(answer)}; ${remedy}`)
  return { ...account, token: String(answer.body?.token) }
}

async function logIn(origin: string, request: Request, account: ComparedInstance['account']): Promise<Credentials> {
  const answer = await request({ method: 'POST', path: '/api/auth/login', body: account })
  if (answer.status !== 200)
    throw new Error(`${origin}: the login of ${account.username} was refused, ${reasonOf(answer)}`)
  return { ...account, token: String(answer.body?.token) }
}

async function deleteAccount(
  origin: string,
  request: Request,
  { credentials, print }: { credentials: Credentials; print: Print },
): Promise<void> {
  const { username, password, token } = credentials
  try {
    const answer = await request({ method: 'DELETE', path: '/api/users/@me', token, body: { username, password } })
    if (answer.status === 200) return print(`${origin}: deleted ${username}`)
    print(`${origin}: ${username} is still there, an admin has to delete it: ${reasonOf(answer)}`)
  } catch (error) {
    print(`${origin}: ${username} is still there, an admin has to delete it: ${describe(error)}`)
  }
}

/** Status and message of an answer that refuses. */
export function reasonOf({ status, body }: Answer): string {
  return body?.error === undefined ? String(status) : `${status} ${String(body.error)}`
}

export function describe(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string }
  return code ?? message ?? String(error)
}

function parseObject(text: string): Answer['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? (value as Answer['body']) : null
  } catch {
    return null
  }
}
