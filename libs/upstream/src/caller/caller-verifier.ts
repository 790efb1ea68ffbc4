import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyOptions } from 'jose'
import { InvalidCaller, KeysUnavailable } from './errors.ts'

/** Who is calling: the client's address, and the user whose live token came with the request, if any. */
export type Caller = {
  address: string
  user: { userId: string; username: string; isAdmin: boolean } | null
}

/** As Node and as fetch have them. */
type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifierOptions = {
  /** As in the file of upstreams: a statement for another one does not count. */
  name: string
  /** The instance's public origin: the issuer, and where its keys are. */
  origin?: string
  /** Where the keys are, when the service reaches the gateway by another address. */
  keysUrl?: string
  /** How far the clocks of both may differ. */
  clockToleranceSeconds?: number
  /** For tests: what counts as the present. */
  now?: () => Date
}

export type CallerVerifier = {
  /** The caller that the gateway states in `X-Gatehouse-Caller`. Rejects with InvalidCaller, KeysUnavailable. */
  verify(statement: string | RequestHeaders): Promise<Caller>
}

const callerHeader = 'x-gatehouse-caller'
/** A statement lives that long. */
const statementSeconds = 30
/** An unknown key is looked for at most so often; keys that left the set count no longer after the other time. */
const lookAgainMs = 30_000
const keysMs = 600_000
const keysTimeoutMs = 5_000

/**
 * Verifies what the gateway states about callers, without asking it: by the public keys that it publishes, which are
 * fetched once and again when a statement names another one. Throws TypeError when it is told neither origin nor keysUrl.
 */
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

/** Whether an error is one of the statement's, and not of fetching the keys. */
function isAboutStatement(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return false
  // The one without a code of its own says that the keys were answered with another status, or not as JSON.
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
