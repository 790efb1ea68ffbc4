import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyOptions } from 'jose'

/** No statement that counts here: answer 503. A client takes a 401 for an ended session. */
export class InvalidCaller extends Error {
  override readonly name = 'InvalidCaller'
}

/** The public keys could not be fetched: answer 503. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

/** The user's live token came with the request. */
export type Caller = { address: string; user: { userId: string; username: string; isAdmin: boolean } | null }

type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifierOptions = {
  /** As in the file of upstreams. Statements for other names are refused. */
  name: string
  origin?: string
  /** For a service that reaches the gateway by another address. */
  keysUrl?: string
  clockToleranceSeconds?: number
  now?: () => Date
}

export type CallerVerifier = {
  /** Rejects with InvalidCaller, KeysUnavailable. */
  verify(statement: string | RequestHeaders): Promise<Caller>
}

const callerHeader = 'x-gatehouse-caller'
const statementSeconds = 30
/** The least time between looks for an unknown key; `keysMs` is how long removed keys count. */
const lookAgainMs = 30_000
const keysMs = 600_000
const keysTimeoutMs = 5_000

/** Asks the gateway for its public keys only. Throws TypeError without origin and keysUrl. */
export function createCallerVerifier(options: VerifierOptions): CallerVerifier {
  const { name, origin, clockToleranceSeconds = 5, now } = options
  const keysUrl = options.keysUrl ?? (origin === undefined ? undefined : `${origin}/api/upstream-keys`)
  if (keysUrl === undefined) throw new TypeError('createCallerVerifier needs the origin or the keysUrl')
  const times = { cooldownDuration: lookAgainMs, cacheMaxAge: keysMs, timeoutDuration: keysTimeoutMs }
  const keys = createRemoteJWKSet(new URL(keysUrl), times)
  const demanded: JWTVerifyOptions = {
    algorithms: ['EdDSA'],
    typ: 'JWT',
    audience: name,
    ...(origin !== undefined && { issuer: origin }),
    requiredClaims: ['exp', 'iat'],
    maxTokenAge: statementSeconds,
    clockTolerance: clockToleranceSeconds,
  }
  return {
    verify: async (statement) => {
      const token = typeof statement === 'string' ? statement : readHeader(statement)
      if (!token) throw new InvalidCaller('the request did not come through the gateway')
      try {
        const { payload } = await jwtVerify(token, keys, now ? { ...demanded, currentDate: now() } : demanded)
        return readCaller(payload)
      } catch (cause) {
        if (cause instanceof InvalidCaller) throw cause
        if (isAboutStatement(cause)) throw new InvalidCaller('the statement about the caller is not valid', { cause })
        throw new KeysUnavailable('the public keys of the gateway cannot be fetched', { cause })
      }
    },
  }
}

function readHeader(headers: RequestHeaders): string | undefined {
  const value = headers instanceof Headers ? headers.get(callerHeader) : headers[callerHeader]
  return typeof value === 'string' ? value : undefined
}

function isAboutStatement(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return false
  // This code means that the keys came with another status or not as JSON.
  return error instanceof errors.JOSEError && error.code !== 'ERR_JOSE_GENERIC'
}

function readCaller({ address, sub, username, admin }: JWTPayload): Caller {
  if (typeof address !== 'string') throw new InvalidCaller('the statement does not name an address')
  if (sub === undefined) return { address, user: null }
  if (typeof username !== 'string' || typeof admin !== 'boolean') {
    throw new InvalidCaller('the statement names a user without a name or a role')
  }
  return { address, user: { userId: sub, username, isAdmin: admin } }
}
