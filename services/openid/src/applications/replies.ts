import type { ApplicationReply } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { Application } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { listReceivers, stateOf } from '../notices/receiver-states.ts'

/** Newest first: there are few. Contract: 3, Applications. */
export async function listApplications({ orm, clock }: Pick<Deps, 'orm' | 'clock'>) {
  const em = orm.em.fork()
  const applications = await em.find(Application, {}, { orderBy: { id: 'desc' } })
  const receivers = await listReceivers(em)
  return { applications: applications.map((application) => replyOf(application, receivers, clock.now())) }
}

/** It has no receiver yet. To be made without a read: its secret is shown this once. */
export const newApplicationReply = ({ clock }: Pick<Deps, 'clock'>, application: Application): ApplicationReply =>
  replyOf(application, [], clock.now())

export async function applicationReply({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, application: Application) {
  return replyOf(application, await listReceivers(orm.em.fork(), application.id), clock.now())
}

type Receivers = Awaited<ReturnType<typeof listReceivers>>

function replyOf(application: Application, receivers: Receivers, now: number): ApplicationReply {
  const { id: applicationId, backchannelLogoutUri = null, signalsUri = null } = application
  const until = application.previousSecretUntil?.getTime() ?? 0
  return {
    id: applicationId,
    name: application.name,
    type: application.type,
    redirectUris: application.redirectUris,
    postLogoutRedirectUris: application.postLogoutRedirectUris,
    backchannelLogoutUri,
    signalsUri,
    skipConsent: application.skipConsent,
    accessTokens: application.accessTokens,
    deviceGrant: application.deviceGrant,
    subjectType: application.sector == null ? 'public' : 'pairwise',
    suspendedAt: application.suspendedAt?.getTime() ?? null,
    createdAt: application.createdAt.getTime(),
    createdBy: application.createdBy ?? null,
    previousSecretUntil: until > now ? until : null,
    receiver: {
      backchannel: stateOf(receivers, { applicationId, channel: 'backchannel', uri: backchannelLogoutUri }),
      signals: stateOf(receivers, { applicationId, channel: 'signals', uri: signalsUri }),
    },
  }
}

type Connected = { id: string; name: string; scopes: string[]; grantedAt: number; lastUsedAt: number | null }

/** What the person allowed, the latest first. Contract: 3, Applications. */
export async function listConnected(em: EntityManager, accountId: string): Promise<Connected[]> {
  const sql = `select a.id::text as id, a.name, c.scopes,
      (extract(epoch from c.granted_at) * 1000)::float8 as "grantedAt",
      (extract(epoch from c.last_used_at) * 1000)::float8 as "lastUsedAt"
    from application_consents c join applications a on a.id = c.application_id
    where c.account_id = ? order by c.granted_at desc, a.id`
  return await read<Connected>(em, sql, [accountId])
}
