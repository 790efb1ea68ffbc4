import { hashSecret } from '@gatehouse/auth'
import { assertCallerCurrent, findLogin, type ActingCaller } from '@gatehouse/authority'
import { changeRows, read, takeShared, transaction } from '@gatehouse/database'
import { OpenidRow } from '@gatehouse/domain'
import { rateLimited, refuse } from '@gatehouse/runtime'
import { type EntityManager, LockMode } from '@mikro-orm/postgresql'
import { findApplication } from '../clients/client.ts'
import type { Deps } from '../deps.ts'
import { insertGrant } from '../grants/allow.ts'
import { policy } from '../policy.ts'
import { askingApplication, knownScopes } from './interaction.ts'

type Waiting = { hash: string; applicationId: string; payload: { params?: { scope?: string } } }

/** Without the operator `?` of JSON: a question mark marks a parameter. */
const waitingSql = (where: string) => `select id_hash as hash, application_id::text as "applicationId", payload
  from openid_rows where model = 'DeviceCode' and ${where} and expires_at > ? and grant_id is null
    and not jsonb_exists(payload, 'error')`

/** Throws device_code_unknown: no device waits with it any more. */
async function findWaiting(deps: Pick<Deps, 'clock'>, em: EntityManager, where: string, value: string) {
  const [row] = await read<Waiting>(em, waitingSql(where), [value, new Date(deps.clock.now())])
  const application = row && (await findApplication(em, row.applicationId))
  if (!row || !application?.deviceGrant) throw refuse.device_code_unknown()
  return { row, application, scopes: knownScopes(row.payload.params?.scope ?? '') }
}

/** As it is typed: in whatever case, with or without what separates its halves. */
const normalize = (userCode: string): string => userCode.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')

/** Which device waits. Guesses are limited by network at the gateway, and here by account. RFC 8628, 5.1. */
export async function readDeviceCode(
  deps: Pick<Deps, 'orm' | 'clock'>,
  { userCode, caller }: { userCode: string; caller: ActingCaller },
) {
  const limit = { limit: policy.deviceCodeAttempts, key: caller.userId, now: deps.clock.now() }
  const { remaining, retryAfter } = await takeShared(deps.orm.em.fork(), limit)
  if (remaining < 0) throw rateLimited(retryAfter)
  const em = deps.orm.em.fork()
  const device = await findWaiting(deps, em, 'user_code_hash = ?', hashSecret(normalize(userCode)))
  return { application: askingApplication(device.application, ''), scopes: device.scopes, uid: device.row.hash }
}

type Decision = { uid: string; decision: 'allow' | 'deny'; caller: ActingCaller }

/** Throws device_code_unknown and as assertCallerCurrent. */
export async function decideDeviceCode(
  deps: Pick<Deps, 'orm' | 'clock' | 'random' | 'config'>,
  { uid, decision, caller }: Decision,
): Promise<void> {
  const work = async (em: EntityManager): Promise<void> => {
    await assertCallerCurrent(em, caller)
    const options = { fields: ['idHash'], lockMode: LockMode.PESSIMISTIC_WRITE } as const
    await em.findOne(OpenidRow, { model: 'DeviceCode', idHash: uid }, options)
    const { application, scopes } = await findWaiting(deps, em, 'id_hash = ?', uid)
    if (decision === 'deny') return await settle(em, uid, { error: 'access_denied' }, null)
    const grantId = await insertGrant(deps, em, { caller, application, scopes })
    const resource = application.accessTokens === 'jwt' && { resource: deps.config.publicAddress.origin }
    const authTime = await findLogin(em, caller)
    const login = authTime !== null && { authTime }
    const allowed = { accountId: caller.userId, grantId, scope: scopes.join(' '), ...login }
    await settle(em, uid, { ...allowed, ...resource }, { hash: hashSecret(grantId), accountId: caller.userId })
  }
  await transaction(deps.orm, work, { accountId: caller.userId })
}

/** What the token endpoint finds when the device asks again. */
async function settle(
  em: EntityManager,
  uid: string,
  change: object,
  grant: { hash: string; accountId: string } | null,
) {
  const sql = `update openid_rows set payload = payload || ?::jsonb, grant_id = ?, account_id = ?::bigint
    where model = 'DeviceCode' and id_hash = ?`
  await changeRows(em, sql, [JSON.stringify(change), grant?.hash ?? null, grant?.accountId ?? null, uid])
}
