import { randomBytes } from 'node:crypto'
import WebSocket from 'ws'

export type Credential = Record<string, string>

/** Methods throw when the server refuses. */
export type Adapter = {
  prepare(origin: string): Promise<void>
  logIn(origin: string): Promise<Credential>
  /** `run` ends with the server's answer. */
  acts: Record<string, { endsSockets?: true; run: (origin: string, credential: Credential) => Promise<unknown> }>
  read: { path: string }
  openSocket?(origin: string, credential: Credential): Promise<ProbedSocket>
}

export type ProbedSocket = {
  /** Sends a message. Null: no verdict came. */
  isAccepted(): Promise<boolean | null>
  onClose(listener: () => void): void
  close(): void
}

type Account = { username: string; password: string }

async function post(url: string, body: object, headers: Credential = {}): Promise<Response> {
  const init = { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
  const response = await fetch(url, { method: 'POST', ...init })
  if (!response.ok) throw new Error(`POST ${url} was answered with ${response.status}: ${await response.text()}`)
  return response
}

/** Without `account` it registers one. Its acts change the password of the account. docs/contract.md 3 and 6. */
export function gatehouse(account?: Account): Adapter {
  const username = account?.username ?? `probe_${randomBytes(6).toString('hex')}`
  let password = account?.password ?? newPassword()
  return {
    prepare: async (origin) => {
      if (!account) await post(`${origin}/api/auth/register`, { username, password })
    },
    logIn: async (origin) => {
      const response = await post(`${origin}/api/auth/login`, { username, password })
      return { authorization: `Bearer ${((await response.json()) as { token: string }).token}` }
    },
    acts: {
      'change of password': {
        endsSockets: true,
        run: async (origin, credential) => {
          const body = { currentPassword: password, newPassword: newPassword() }
          await post(`${origin}/api/users/@me/change-password`, body, credential)
          password = body.newPassword
        },
      },
      'end of all sessions': {
        endsSockets: true,
        run: (origin, credential) => post(`${origin}/api/users/@me/sessions/end`, { password }, credential),
      },
    },
    read: { path: '/api/users/@me' },
    openSocket: async (origin, credential) => await openSocket(origin, credential['authorization']?.slice(7) ?? ''),
  }
}

const parse = (data: Buffer) => JSON.parse(data.toString()) as { code?: string; user?: { isAdmin: boolean } }

async function openSocket(origin: string, token: string): Promise<ProbedSocket> {
  const socket = new WebSocket(`${origin.replace(/^http/, 'ws')}/ws`)
  const isAdmin = await new Promise<boolean>((resolve, reject) => {
    socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
    socket.once('error', reject)
    socket.once('close', (code) => reject(new Error(`the socket at ${origin} was closed with ${code}`)))
    // The first message is `ready`, or the error before the close.
    socket.once('message', (data: Buffer) => resolve(parse(data).user?.isAdmin === true))
  })
  let onAnswer: (code: string | undefined) => void = () => undefined
  socket.on('message', (data: Buffer) => onAnswer(parse(data).code))
  socket.on('close', () => onAnswer('token_revoked'))
  return {
    isAccepted: async () => {
      if (socket.readyState !== WebSocket.OPEN) return false
      const answered = new Promise<string | undefined>((resolve) => {
        onAnswer = resolve
        setTimeout(resolve, answerMs)
      })
      // Judged as a message for a service is. Where its token is accepted, an admin gets no answer.
      socket.send('{"type":"watch","topic":"admin"}')
      const code = await answered
      if (code === 'token_revoked') return false
      return code === (isAdmin ? undefined : 'admin_required') ? true : null
    },
    onClose: (listener) => void socket.on('close', listener),
    close: () => socket.terminate(),
  }
}

/** better-auth with e-mail and password; its sessions are cookies. */
export function betterAuth(account?: Account): Adapter {
  const email = account?.username ?? `probe-${randomBytes(6).toString('hex')}@probe.example`
  let password = account?.password ?? newPassword()
  return {
    prepare: async (origin) => {
      if (!account) await post(`${origin}/api/auth/sign-up/email`, { email, password, name: 'Probe' }, { origin })
    },
    logIn: async (origin) => {
      const response = await post(`${origin}/api/auth/sign-in/email`, { email, password }, { origin })
      const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
      return { origin, cookie: cookies.join('; ') }
    },
    acts: {
      'change of password': {
        run: async (origin, credential) => {
          const body = { currentPassword: password, newPassword: newPassword(), revokeOtherSessions: true }
          await post(`${origin}/api/auth/change-password`, body, credential)
          password = body.newPassword
        },
      },
      'end of all sessions': {
        run: (origin, credential) => post(`${origin}/api/auth/revoke-sessions`, {}, credential),
      },
    },
    read: { path: '/api/auth/get-session' },
  }
}

const answerMs = 1_000

const newPassword = (): string => randomBytes(18).toString('base64url')
