import { importPKCS8, SignJWT } from 'jose'

/** What every user sees of an account. `version` rises with each change of it. */
export type Account = {
  id: string
  username: string
  displayName: string | null
  /** The picture is at `/api/uploads/<avatar>`. */
  avatar: string | null
  isDeleted: boolean
  version: number
}

export type AccountChanges = {
  accounts: Account[]
  /** To go on with. Keep it with what you stored of the page. */
  next: number
}

/** Refused by Gatehouse, such as with `statement_invalid`, or 429 after which `retryAfterSeconds` is the time to wait. */
export class AskRefused extends Error {
  override readonly name = 'AskRefused'
  readonly status: number
  readonly code: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, code: string | undefined, retryAfterSeconds: number | undefined) {
    super(`Gatehouse answered ${status}${code === undefined ? '' : `, ${code}`}`)
    this.status = status
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export type UpstreamClientOptions = {
  /** The instance's public origin. */
  origin: string
  /** As in the file of upstreams. */
  name: string
  /** PEM, as `openssl genpkey -algorithm ed25519` writes it. Its public half is in the file of upstreams. */
  key: string
  /** For a service that reaches the gateway by another address. */
  gatewayUrl?: string
}

export type UpstreamClient = {
  /** Of any number of ids. Unknown ones are absent. */
  accounts(ids: readonly string[]): Promise<Account[]>
  /** Those of `ids` who are online. */
  online(ids: readonly string[]): Promise<Set<string>>
  /**
   * What changed after a version, page by page: 0 is from the beginning. Without one, a page without accounts, whose `next` is from now on.
   * Begins from 0 where the instance has lost the version.
   */
  changes(after?: number): AsyncGenerator<AccountChanges, void>
}

const statementSeconds = 60
const accountsAtOnce = 100
const presencesAtOnce = 1_000
const answerMs = 10_000

/** Signs each request. Its functions reject with AskRefused, and with what fetch rejects with. */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { origin, name, key, gatewayUrl = origin } = options
  const imported = importPKCS8(key, 'EdDSA')
  // Each request says it again.
  imported.catch(() => undefined)

  async function ask<Answer>(path: string, body?: object): Promise<Answer> {
    const claims = new SignJWT().setIssuer(name).setAudience(origin)
    const timed = claims.setIssuedAt().setExpirationTime(`${statementSeconds}s`)
    const statement = await timed.setProtectedHeader({ alg: 'EdDSA', typ: 'JWT' }).sign(await imported)
    const response = await fetch(`${gatewayUrl}/api/upstream/${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Upstream ${statement}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(answerMs),
    })
    if (response.ok) return (await response.json()) as Answer
    const { code } = (await response.json().catch(() => ({}))) as { code?: string }
    throw new AskRefused(response.status, code, Number(response.headers.get('retry-after')) || undefined)
  }

  async function* changes(after?: number): AsyncGenerator<AccountChanges, void> {
    for (let more = true; more;) {
      const query = after === undefined ? '' : `?after=${after}`
      const reply = ask<AccountChanges & { more: boolean }>(`accounts/changes${query}`)
      const page = await reply.catch((error: unknown) => {
        if (error instanceof AskRefused && error.code === 'version_unknown' && after !== 0) return undefined
        throw error
      })
      after = page?.next ?? 0
      more = page?.more ?? true
      if (page) yield { accounts: page.accounts, next: page.next }
    }
  }

  return {
    accounts: async (ids) => {
      const pages = inGroups(ids, accountsAtOnce).map((some) => ask<{ accounts: Account[] }>('accounts', { ids: some }))
      return (await Promise.all(pages)).flatMap(({ accounts }) => accounts)
    },
    online: async (ids) => {
      const replies = inGroups(ids, presencesAtOnce).map((some) =>
        ask<{ presences: object }>('presence', { ids: some }),
      )
      return new Set((await Promise.all(replies)).flatMap(({ presences }) => Object.keys(presences)))
    },
    changes,
  }
}

function inGroups(ids: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(ids.length / size) }, (_, index) => ids.slice(index * size, (index + 1) * size))
}
