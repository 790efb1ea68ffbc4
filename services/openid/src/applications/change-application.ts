import { type ActingAdmin, assertCallerCurrent } from '@gatehouse/authority'
import { limits, type AuditAction } from '@gatehouse/contracts'
import type { createApplicationBody, patchApplicationBody } from '@gatehouse/contracts'
import { lockName, nextId, recordAudit, transaction } from '@gatehouse/database'
import { Application, type NoticeChannel } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { renewSecret } from '../clients/secrets.ts'
import type { Deps } from '../deps.ts'
import { endApplication } from '../grants/end-grants.ts'
import { sectorOf } from '../keys/subjects.ts'
import { verify } from '../notices/signal-routes.ts'
import { dropNotices, tryNow } from '../notices/write-notices.ts'
import { requirePairwise, requireReceivers, requireRedirectUris, type ReceiverUris } from './require-addresses.ts'

type ChangeDeps = Pick<Deps, 'orm' | 'clock' | 'random' | 'notices' | 'config'>
type Target = { id: string; admin: ActingAdmin }
type Act = { action: AuditAction; detail?: Record<string, unknown> }

function record(em: EntityManager, { clock }: ChangeDeps, { action, detail, ...of }: Act & Aimed): void {
  const { id, name } = of.application
  const target = { type: 'application', id, name } as const
  recordAudit(em, { action, actor: of.admin, target, ...(detail && { detail }), at: new Date(clock.now()) })
}
type Aimed = { application: Pick<Application, 'id' | 'name'>; admin: ActingAdmin }

/** Throws as `assertCallerCurrent` does. Design: invariant 1. */
async function actAsAdmin<T>({ orm }: ChangeDeps, admin: ActingAdmin, act: (em: EntityManager) => Promise<T>) {
  return await transaction(orm, async (em) => {
    await assertCallerCurrent(em, admin, { admin: true })
    return await act(em)
  })
}

/** Locks it until the commit. Throws application_unknown. */
async function change<T>(
  deps: ChangeDeps,
  { id, admin }: Target,
  act: (application: Application, em: EntityManager) => Promise<T>,
): Promise<T> {
  return await actAsAdmin(deps, admin, async (em) => {
    const application = await em.findOne(Application, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!application) throw refuse.application_unknown()
    return await act(application, em)
  })
}

type Creation = z.infer<typeof createApplicationBody> & { admin: ActingAdmin }

/**
 * Its secret is shown this once. Throws redirect_uri_invalid, receiver_uri_private,
 * application_pairwise, application_limit. Contract: 3, Applications.
 */
export async function createApplication(deps: ChangeDeps, { admin, subjectType = 'public', ...fields }: Creation) {
  requireRedirectUris(fields)
  requireReceivers(deps, fields)
  if (subjectType === 'pairwise') requirePairwise(fields)
  return await actAsAdmin(deps, admin, async (em) => {
    // Two at once would count the same.
    await lockName(em, 'applications')
    if ((await em.count(Application)) >= limits.applicationsMax) throw refuse.application_limit()
    const { postLogoutRedirectUris = [], skipConsent = false, accessTokens = 'opaque', deviceGrant = false } = fields
    const id = await nextId(em)
    const sector = subjectType === 'pairwise' ? sectorOf({ ...fields, id }) : null
    const creation = { id, sector, createdAt: new Date(deps.clock.now()), createdBy: admin.userId }
    const chosen = { postLogoutRedirectUris, skipConsent, accessTokens, deviceGrant }
    const application = em.create(Application, { ...fields, ...chosen, ...creation })
    em.persist(application)
    const isConfidential = application.type === 'confidential'
    const clientSecret = isConfidential ? renewSecret(application, { ...deps, now: deps.clock.now() }) : undefined
    const { type, redirectUris } = fields
    const detail = { type, redirectUris, ...(sector !== null && { subjectType }) }
    record(em, deps, { action: 'application.created', detail, application, admin })
    return { application, clientSecret }
  })
}

type Change = z.infer<typeof patchApplicationBody>

/**
 * Its users keep their `sub` at another host. Throws application_unknown, redirect_uri_invalid, receiver_uri_private,
 * application_pairwise. Contract: 3, Applications.
 */
export async function patchApplication(deps: ChangeDeps, target: Target, { suspended, ...fields }: Change) {
  const { admin } = target
  return await change(deps, target, async (application, em) => {
    requireReceivers(deps, fields)
    const before = { ...application }
    Object.assign(application, fields)
    requireRedirectUris(application)
    if (application.sector != null) requirePairwise(application)
    const changed = (Object.keys(fields) as (keyof typeof fields)[]).filter((name) => {
      return JSON.stringify(before[name] ?? null) !== JSON.stringify(application[name] ?? null)
    })
    const detail = Object.fromEntries(changed.map((name) => [name, application[name]]))
    if (changed.length > 0) record(em, deps, { action: 'application.changed', detail, application, admin })
    if (suspended !== undefined && suspended !== (application.suspendedAt != null)) {
      application.suspendedAt = suspended ? new Date(deps.clock.now()) : null
      const action = suspended ? 'application.suspended' : 'application.unsuspended'
      record(em, deps, { action, application, admin })
    }
    const move = { now: application, before }
    await followAddress(em, { ...move, name: 'backchannelLogoutUri', channel: 'backchannel' })
    await followAddress(em, { ...move, name: 'signalsUri', channel: 'signals' })
    return application
  })
}

/** What waits goes to the new address at once, or nowhere. */
async function followAddress(em: EntityManager, { now, before, name, channel }: Move): Promise<void> {
  if (now[name] === before[name]) return
  if (now[name] == null) await dropNotices(em, now.id, [channel])
  else await tryNow(em, now.id, [channel])
}
type Move = { now: Application; before: ReceiverUris; name: keyof ReceiverUris; channel: NoticeChannel }

/** What it was allowed ends with the commit. Throws application_unknown. Contract: 3, Applications. */
export async function deleteApplication(deps: ChangeDeps, target: Target): Promise<void> {
  await change(deps, target, async (application, em) => {
    await endApplication(em, application.id)
    await dropNotices(em, application.id, ['backchannel', 'signals'])
    em.remove(application)
    record(em, deps, { action: 'application.deleted', application, admin: target.admin })
  })
}

/** Throws application_unknown, application_public. Contract: 3, Applications. */
export async function renewApplicationSecret(deps: ChangeDeps, target: Target): Promise<string> {
  return await change(deps, target, async (application, em) => {
    if (application.type === 'public') throw refuse.application_public()
    record(em, deps, { action: 'application.secret-renewed', application, admin: target.admin })
    return renewSecret(application, { ...deps, now: deps.clock.now() })
  })
}

/** Throws application_unknown, receiver_missing. Contract: 3, Applications. */
export async function testReceiver(deps: ChangeDeps, target: Target): Promise<void> {
  const application = await change(deps, target, async (current) => current)
  if (application.signalsUri == null) throw refuse.receiver_missing()
  await verify(deps, { application, eventId: deps.random.uuid() })
}
