import { AsyncLocalStorage } from 'node:async_hooks'
import { hashSecret } from '@gatehouse/auth'
import { judgeToken } from '@gatehouse/authority'
import { isStorableText } from '@gatehouse/contracts'
import { batchedStatement, changeRows, columnsOf, read, transaction } from '@gatehouse/database'
import { Application, OpenidRow } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Payload, ProviderContext } from 'oidc-provider'
import { applicationColumns, clientMetadata, readApplication } from '../clients/client.ts'
import type { Deps } from '../deps.ts'

type AdapterDeps = Pick<Deps, 'orm' | 'clock' | 'config'> & {
  onReuse(model: string): void
  lost(model: string): Error
  unstorable(): Error
  /** Throws when there are too many. */
  limitStored(request: RequestState): Promise<void>
}

type Write = (em: EntityManager) => Promise<unknown>

/**
 * `address`: of the client. `grants`: what a find of a token has read of its grant; the request finds the grant itself next.
 * `ctx`: of the library, once it has one. `writes`: of a token request, from the use of the code or refresh token on; `storeAll` makes them.
 */
export type RequestState = {
  address: string
  found: Map<string, unknown>
  ctx?: ProviderContext
  writes?: Write[]
  storeAll?(): Promise<void>
}
const requests = new AsyncLocalStorage<RequestState>()

export const withinRequest = <T>(address: string, work: () => Promise<T>): Promise<T> =>
  requests.run({ address, found: new Map() }, work)

/** All that a token request stores, or nothing: after a fault, the code or refresh token is as unused as before. */
export const storeTokens = async (): Promise<void> => await requests.getStore()?.storeAll?.()

/** Lets the adapter know which application asks. */
export async function keepContext(ctx: ProviderContext, next: () => Promise<unknown>): Promise<void> {
  const state = requests.getStore()
  if (state) state.ctx = ctx
  await next()
}

class UsedBefore extends Error {
  override readonly name = 'UsedBefore'
}

/** Nobody has decided anything about these. */
const undecided = new Set(['DeviceCode', 'PushedAuthorizationRequest'])

/** With a token its person and its application have been read: the request finds them next. */
const remember = (key: string, value: object | undefined) => {
  if (value) requests.getStore()?.found.set(key, value)
}
export const recallAccount = (id: string) => requests.getStore()?.found.get(`account ${id}`) as Account | undefined

type Account = {
  username: string
  displayName: string | null
  avatar: string | null
  isDeleted: boolean
  profileUpdatedAt: number
}
/** Texts: requests of one moment share a row, and the library changes payloads that it gets. */
type Row = {
  idHash: string
  payload: string
  consumed: number | null
  grantId: string | null
  grant: string | null
  tokenIssuedAt: number | null
  accountId: string | null
  passwordChangedAt: number | null
  /** Undefined: suspended, or gone. */
  application: Application | undefined
} & Account
/** Of one model, by hashes of ids. */
const findSql = (
  model: string,
  columns: string,
) => `select ${columns}, t.id_hash as "idHash", t.payload::text as payload,
    extract(epoch from t.consumed_at)::float8 as consumed, t.grant_id as "grantId", g.payload::text as "grant",
    g.token_issued_at::float8 as "tokenIssuedAt", u.id::text as "accountId", u.username, u.display_name as "displayName",
    u.avatar, u.is_deleted as "isDeleted", u.profile_updated_at::float8 as "profileUpdatedAt",
    u.password_changed_at::float8 as "passwordChangedAt"
  from openid_rows t
  left join openid_rows g on g.model = 'Grant' and g.id_hash = ${model === 'Grant' ? 't.id_hash' : 't.grant_id'}
  left join users u on u.id = g.account_id
  left join applications on applications.id = g.application_id and applications.suspended_at is null
  where t.model = '${model}' and t.id_hash = any($1)`

const createRead = (model: string) =>
  batchedStatement<Row>({
    name: `openid_${model}`,
    key: 'idHash',
    compile: (em) => {
      const { sql, read: readColumns } = columnsOf(em, Application, applicationColumns)
      const readOne = (columns: object): Row => {
        const row = readColumns(columns as Row)
        return Object.assign(row, { application: (row.id as string | null) === null ? undefined : row })
      }
      return { text: findSql(model, sql), read: readOne }
    },
  })

const parse = (json: string) => JSON.parse(json) as Payload

/** The library ends these one by one, and then the grant. */
const endedWithGrant = new Set(['AccessToken', 'RefreshToken'])

/** Without a person yet, or without one at all: an application waits for a device, or pushed its request. */
const grantless = new Set(['DeviceCode', 'Interaction', 'Session', 'PushedAuthorizationRequest', 'ReplayDetection'])

/** The authority of the person decides, as it does for a session token. Design: invariant 1; Contract: 3, Applications. */
function isLive(model: string, row: Row): boolean {
  if (row.grantId === null && grantless.has(model)) return true
  const { grant, tokenIssuedAt, accountId, isDeleted, passwordChangedAt } = row
  if (!grant || tokenIssuedAt === null || !row.application) return false
  const state = accountId === null ? undefined : { isDeleted, passwordChangedAt }
  return judgeToken({ iat: tokenIssuedAt }, state) === 'live'
}

/** Refresh tokens are a character longer, so that a look for one kind does not ask for the other. */
export const bitsOf = (model: string): number => (model === 'RefreshToken' ? 264 : 256)
const lengthOf = (model: string): number => Math.ceil(bitsOf(model) / 6)

const insertSql = `insert into openid_rows (model, id_hash, payload, grant_id, account_id, application_id, user_code_hash,
    created_at, expires_at)
  values (?, ?, ?::jsonb, ?, ?::bigint, ?::bigint, ?, ?, ?)
  on conflict (model, id_hash) do update set payload = excluded.payload, grant_id = excluded.grant_id,
    account_id = excluded.account_id, expires_at = excluded.expires_at`

/** Anybody may store a request of a public application, and no longer one than an address holds. */
const longest = 16_384

/** A grant lives as long as what it gives. */
const extendSql = `update openid_rows set expires_at = greatest(expires_at, ?),
    payload = jsonb_set(payload, '{exp}', to_jsonb(greatest((payload->>'exp')::bigint, ?::bigint)))
  where model = 'Grant' and id_hash = ?`

const consumeSql = `with consumed as (
    update openid_rows set consumed_at = ? where model = ? and id_hash = ? and consumed_at is null
    returning account_id, application_id
  ), used as (
    update application_consents c set last_used_at = ? from consumed o
    where c.account_id = o.account_id and c.application_id = o.application_id
  )
  select count(*)::int as count from consumed`

/** Ids of secrets are stored hashed, and nowhere else. One statement or transaction for each step: it holds with any number of replicas. */
// eslint-disable-next-line max-lines-per-function -- one method for each that the library calls
export function createAdapter(deps: AdapterDeps) {
  const { orm, clock } = deps
  const em = () => orm.em.fork()
  // Batched reads keep nothing in it.
  const reader = em()

  const reads = new Map<string, ReturnType<typeof createRead>>()
  const readOf = (model: string) => {
    const readModel = reads.get(model) ?? createRead(model)
    reads.set(model, readModel)
    return readModel
  }

  async function find(model: string, id: string): Promise<Payload | undefined> {
    if ((model === 'AccessToken' || model === 'RefreshToken') && id.length !== lengthOf(model)) return undefined
    const hash = hashSecret(id)
    const grant = model === 'Grant' ? (requests.getStore()?.found.get(hash) as string | undefined) : undefined
    if (grant !== undefined) return Object.assign(parse(grant), { jti: id })
    const row = await readOf(model)(reader, hash)
    if (!row || !isLive(model, row)) return undefined
    if (row.grantId && row.grant) requests.getStore()?.found.set(row.grantId, row.grant)
    remember(`account ${row.accountId}`, row)
    remember(`application ${row.application?.id}`, row.application)
    const consumed = row.consumed !== null && { consumed: Math.floor(row.consumed) }
    return Object.assign(parse(row.payload), { jti: id }, consumed)
  }

  async function upsert(model: string, id: string, libraryPayload: Payload, expiresIn: number): Promise<void> {
    const { jti: _id, userCode, consumed: _consumed, ...payload } = libraryPayload
    const now = clock.now()
    const grantHash = typeof libraryPayload['grantId'] === 'string' ? hashSecret(libraryPayload['grantId']) : null
    const userCodeHash = typeof userCode === 'string' ? hashSecret(userCode) : null
    const expiresAt = new Date(now + expiresIn * 1_000)
    const ofPerson = [libraryPayload['accountId'] ?? null, libraryPayload['clientId'] ?? null]
    const text = JSON.stringify(payload, (_key, value: unknown) => {
      if (typeof value === 'string' && !isStorableText(value)) throw deps.unstorable()
      return value
    })
    if (text.length > longest) throw deps.unstorable()
    const request = requests.getStore()
    if (undecided.has(model) && request) await deps.limitStored(request)
    const row = [model, hashSecret(id), text, grantHash, ...ofPerson, userCodeHash]
    const extension = [expiresAt, Math.floor(expiresAt.getTime() / 1_000), grantHash]
    const store: Write = (into) => changeRows(into, insertSql, [...row, new Date(now), expiresAt])
    const extend: Write = (into) => changeRows(into, extendSql, extension)
    const writes = model === 'RefreshToken' ? [extend, store] : [store]
    if (request?.writes) request.writes.unshift(...writes)
    else for (const write of writes) await write(em())
  }

  /** Of sixteen at once one wins. The others mean that somebody has what only one may: the grant ends. RFC 9700, 2.1.1; 4.14. */
  async function consume(model: string, id: string): Promise<void> {
    const at = new Date(clock.now())
    const use: Write = async (into) => {
      const [row] = await read<{ count: number }>(into, consumeSql, [at, model, hashSecret(id), at])
      if (row?.count !== 1) throw new UsedBefore()
    }
    const request = requests.getStore()
    if (request?.ctx?.oidc.route !== 'token') return await endGrantIfUsed(use(em()), model, id)
    const writes: Write[] = (request.writes = [])
    request.storeAll = async () => {
      // The grant is locked first, as deletions do. The use comes last: it locks the consent, which all grants of a person share.
      const stored = transaction(orm, async (tx) => {
        for (const write of [...writes, use]) await write(tx)
      })
      await endGrantIfUsed(stored, model, id)
    }
  }

  /** Throws `lost` where another request has used it. */
  async function endGrantIfUsed(use: Promise<unknown>, model: string, id: string): Promise<void> {
    try {
      await use
    } catch (error) {
      if (!(error instanceof UsedBefore)) throw error
      deps.onReuse(model)
      const lost = await em().findOne(OpenidRow, { model, idHash: hashSecret(id) }, { fields: ['grantId'] })
      if (lost?.grantId) await destroyGrant(lost.grantId)
      throw deps.lost(model)
    }
  }

  /** At once: of a half, a repeated request would find nothing to end. */
  async function destroyGrant(hash: string): Promise<void> {
    await transaction(orm, async (tx) => {
      await tx.nativeDelete(OpenidRow, { model: 'Grant', idHash: hash })
      await tx.nativeDelete(OpenidRow, { grantId: hash })
    })
  }

  return (model: string) => ({
    find: async (id: string) => {
      if (model !== 'Client') return await find(model, id)
      const remembered = requests.getStore()?.found.get(`application ${id}`) as Application | undefined
      const application = remembered ?? (await readApplication(reader, id))
      return application && clientMetadata(application)
    },
    upsert: (id: string, payload: Payload, expiresIn: number) => upsert(model, id, payload, expiresIn),
    consume: (id: string) => consume(model, id),
    destroy: async (id: string) => {
      if (model === 'Grant') return await destroyGrant(hashSecret(id))
      if (endedWithGrant.has(model)) return
      await em().nativeDelete(OpenidRow, { model, idHash: hashSecret(id) })
    },
    revokeByGrantId: async () => undefined,
    // The pages of the web app take their place: routes/interactions.ts.
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
  })
}
