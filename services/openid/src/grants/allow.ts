import { hashSecret } from '@gatehouse/auth'
import type { ActingCaller } from '@gatehouse/authority'
import { changeRows, read } from '@gatehouse/database'
import { OpenidRow, type Application } from '@gatehouse/domain'
import { randomToken } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { lifetimes, policy } from '../policy.ts'

type Allowed = {
  caller: ActingCaller
  application: Pick<Application, 'id' | 'accessTokens'>
  scopes: readonly string[]
}

const consentSql = `insert into application_consents (account_id, application_id, scopes, granted_at) values (?, ?, ?::jsonb, ?)
  on conflict (account_id, application_id) do update set scopes = (
    select coalesce(jsonb_agg(distinct scope), '[]') from jsonb_array_elements(application_consents.scopes || excluded.scopes) as scope
  )`

/**
 * Each decision makes a new grant, by the authority of the session with which the person decided. Gives its id. Call it in the
 * transaction that has checked the caller. Design: invariant 1; Contract: 3, Applications.
 */
export async function insertGrant(
  deps: Pick<Deps, 'clock' | 'random' | 'config'>,
  em: EntityManager,
  { caller, application, scopes }: Allowed,
): Promise<string> {
  const now = deps.clock.now()
  const id = randomToken(deps.random, 32)
  const expiresAt = now + lifetimes.Grant * 1_000
  const scope = scopes.join(' ')
  const payload = {
    kind: 'Grant',
    iat: Math.floor(now / 1_000),
    exp: Math.floor(expiresAt / 1_000),
    accountId: caller.userId,
    clientId: application.id,
    openid: { scope },
    ...(application.accessTokens === 'jwt' && { resources: { [deps.config.publicAddress.origin]: scope } }),
  }
  const accountId = caller.userId
  await endOldest(
    em,
    'account_id = ? and application_id = ?',
    [accountId, application.id],
    policy.grantsAtOneApplication,
  )
  await endOldest(em, 'account_id = ?', [accountId], policy.grantsOfAccount)
  await em.insert(OpenidRow, {
    model: 'Grant',
    idHash: hashSecret(id),
    payload,
    accountId,
    applicationId: application.id,
    tokenIssuedAt: String(caller.tokenIssuedAt),
    createdAt: new Date(now),
    expiresAt: new Date(expiresAt),
  })
  await changeRows(em, consentSql, [accountId, application.id, JSON.stringify(scopes), new Date(now)])
  return id
}

/** Leaves room for one more. */
async function endOldest(em: EntityManager, where: string, parameters: string[], most: number): Promise<void> {
  const old = await read<{ hash: string }>(
    em,
    `delete from openid_rows where model = 'Grant' and id_hash in (
       select id_hash from openid_rows where model = 'Grant' and ${where} order by created_at desc, id_hash offset ${most - 1}
     ) returning id_hash as hash`,
    parameters,
  )
  if (old.length === 0) return
  await em.nativeDelete(OpenidRow, { grantId: { $in: old.map(({ hash }) => hash) } })
}
