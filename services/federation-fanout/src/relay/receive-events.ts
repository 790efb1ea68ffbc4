import { applyAccountStates, applyRemoteProfiles, homeFields, isStorableText } from '@gatehouse/contracts'
import {
  accountStateUpdate,
  presenceUpdate,
  profileUpdate,
  relayEvent,
  remotePresenceReported,
} from '@gatehouse/contracts'
import type { relayBody, RelayEvent, relayReply, RemoteProfile, ToldState } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import type { Peer } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { isOtherInstance, noteInstance } from '../peers/peer-states.ts'
import { hostOf, normalizeSignedOrigin } from '../peers/signature.ts'
import type { PeerDeps } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'

type RelayReply = z.infer<typeof relayReply>
type Relayed = z.infer<typeof relayBody> & { requestId?: string | undefined }

/**
 * Another instanceId parks the peer. Who names no source is the signer. Throws source_mismatch, peer_unknown.
 * protocol.md 2.6, 3.2.
 */
export async function relayEvents(
  deps: PeerDeps & Pick<Deps, 'bus' | 'log'>,
  peer: Peer,
  relayed: Relayed,
): Promise<RelayReply> {
  const { sourceInstance, sourceInstanceId, requestId } = relayed
  if (sourceInstance !== undefined && normalizeSignedOrigin(sourceInstance) !== peer.origin) {
    throw refuse.source_mismatch()
  }
  if (sourceInstanceId && sourceInstanceId !== peer.instanceId) {
    await noteInstance(deps, peer.origin, { instanceId: sourceInstanceId, requestId })
  }
  if (isOtherInstance(peer, sourceInstanceId)) throw refuse.peer_unknown()
  return await receiveEvents(deps, peer, relayed)
}

type Verdict = 'accepted' | { rejected: string } | { undeliverable: string }

/** Existing instances repeat such events. protocol.md 3.2. */
export const later = { rejected: 'temporarily_unavailable' }

/** Full names, or prefixes ending in an underscore. protocol.md 6.2. */
const ignoredTypes = [
  'read_state_update',
  'dm_close',
  'dm_reopen',
  'dm_call_accept',
  'dm_call_reject',
  'dm_call_end',
  'file_rejected',
  'ownership_transfer',
  'group_metadata_update',
  'friend_request_update',
  'friend_request_cancel',
  'friend_add',
  'friend_remove',
  'update',
  'delete',
  'reaction_',
  'dm_typing_',
  'member_',
]

const noRecipient = { rejected: 'recipient_not_found' }

type Collected = {
  presences: PresenceReport[]
  profiles: Map<RelayEvent, RemoteProfile>
  states: Map<RelayEvent, ToldState>
}

/** An event without a readable messageId gets no answer. protocol.md 3.2, 6.2. */
export async function receiveEvents(
  deps: Pick<Deps, 'orm' | 'bus' | 'clock' | 'log'>,
  peer: Peer,
  relayed: Relayed,
): Promise<RelayReply> {
  const events = relayed.events.flatMap((event) => relayEvent.safeParse(event).data ?? [])
  const collected: Collected = { presences: [], profiles: new Map(), states: new Map() }
  const verdicts = new Map(events.map((event) => [event, judgeEvent(peer, event, collected)]))
  const { presences, profiles, states } = collected
  if (!(await applyProfiles(deps, peer, [...profiles.values()]))) {
    for (const event of profiles.keys()) verdicts.set(event, later)
  }
  const verdictOf = await applyStates(deps, peer, { states: [...states.values()], requestId: relayed.requestId })
  for (const [event, { homeUserId }] of states) verdicts.set(event, verdictOf(homeUserId))
  await reportPresences(deps, presences, relayed.requestId)
  return toReply(verdicts)
}

/** Unreadable presences and profiles are accepted. */
function judgeEvent(peer: Peer, event: RelayEvent, { presences, profiles, states }: Collected): Verdict {
  const { eventType } = event
  if (eventType === 'presence_update') {
    const report = readPresence(event)
    if (report && report.host !== peer.host) return { rejected: 'attribution_mismatch' }
    if (report) presences.push(report)
    return 'accepted'
  }
  if (eventType === 'profile_update') {
    const profile = readProfile(peer, event)
    if (profile === 'foreign') return { rejected: 'attribution_mismatch' }
    if (profile) profiles.set(event, profile)
    return 'accepted'
  }
  if (eventType === 'account_state') {
    const state = readAccountState(peer, event)
    if (state) states.set(event, state)
    return state ? 'accepted' : noRecipient
  }
  if (eventType === 'friend_request_create') return noRecipient
  if (eventType === 'dm_call_start') return { undeliverable: 'no_recipient' }
  const isIgnored = ignoredTypes.some((type) => (type.endsWith('_') ? eventType.startsWith(type) : eventType === type))
  return isIgnored ? 'accepted' : { rejected: 'unknown_event_type' }
}

function readPresence(event: RelayEvent): PresenceReport | undefined {
  const { data } = presenceUpdate.safeParse(event.presenceUpdate)
  if (!data || !isStorableText(data.homeUserId)) return undefined
  const status = data.status === 'offline' ? 'offline' : 'online'
  return { homeUserId: data.homeUserId, host: hostOf(data.homeInstance), status }
}

/** `foreign`: not its user. Undefined: unreadable. */
function readProfile(peer: Peer, event: RelayEvent): RemoteProfile | 'foreign' | undefined {
  const { data } = profileUpdate.safeParse(event.profileUpdate)
  if (!data) return undefined
  if (hostOf(data.homeInstance) !== peer.host) return 'foreign'
  const { homeUserId, profileUpdatedAt, ...texts } = data
  if (![homeUserId, ...Object.values(texts)].every((text) => !text || isStorableText(text))) return undefined
  const fields = Object.fromEntries(homeFields.map((field) => [field, texts[field] ?? null]))
  return { homeUserId, profileUpdatedAt, username: texts.username ?? '', ...fields } as RemoteProfile
}

/** Undefined: unreadable, or of another instance's user. */
function readAccountState(peer: Peer, event: RelayEvent): ToldState | undefined {
  const { data } = accountStateUpdate.safeParse(event.accountState)
  if (!data || !isStorableText(data.homeUserId) || hostOf(data.homeInstance) !== peer.host) return undefined
  const { homeUserId, state, ts } = data
  return { homeUserId, state, ts }
}

function toReply(verdicts: ReadonlyMap<RelayEvent, Verdict>): RelayReply {
  const accepted: string[] = []
  const rejected: RelayReply['rejected'] = []
  const undeliverable: RelayReply['rejected'] = []
  for (const [{ messageId }, verdict] of verdicts) {
    if (verdict === 'accepted') accepted.push(messageId)
    else if ('rejected' in verdict) rejected.push({ messageId, reason: verdict.rejected })
    else undeliverable.push({ messageId, reason: verdict.undeliverable })
  }
  const { maxUploadSize } = policy
  return { accepted, rejected, ...(undeliverable.length > 0 && { undeliverable }), maxUploadSize }
}

/** A page of sync may hold more than one call takes. Returns whether it succeeded. protocol.md 3.3. */
async function applyProfiles(
  { bus, log }: Pick<Deps, 'bus' | 'log'>,
  { origin, host }: Peer,
  profiles: RemoteProfile[],
): Promise<boolean> {
  try {
    for (let from = 0; from < profiles.length; from += policy.relayEventsMax) {
      const some = { origin, host, profiles: profiles.slice(from, from + policy.relayEventsMax) }
      await bus.request(applyRemoteProfiles, some, { timeoutMs: policy.profileCallTimeoutMs })
    }
    return true
  } catch (error) {
    log.warn({ err: error, origin, profiles: profiles.length }, 'remote profiles not applied')
    return false
  }
}

type ToldStates = { states: ToldState[]; requestId: string | undefined }

/** The latest of each user, and of a page of sync all. Gives the verdict on a user's. Contract: 7, Account states. */
async function applyStates(
  { bus, log }: Pick<Deps, 'bus' | 'log'>,
  { origin, host }: Peer,
  { states, requestId }: ToldStates,
) {
  const latest = new Map<string, ToldState>()
  for (const state of states) {
    if (state.ts > (latest.get(state.homeUserId)?.ts ?? -Infinity)) latest.set(state.homeUserId, state)
  }
  const latestStates = [...latest.values()]
  const unknown = new Set<string>()
  try {
    for (let from = 0; from < latestStates.length; from += policy.relayEventsMax) {
      const some = { origin, host, states: latestStates.slice(from, from + policy.relayEventsMax) }
      const reply = await bus.request(applyAccountStates, some, { requestId, timeoutMs: policy.profileCallTimeoutMs })
      for (const homeUserId of reply.unknown) unknown.add(homeUserId)
    }
    return (homeUserId: string): Verdict => (unknown.has(homeUserId) ? noRecipient : 'accepted')
  } catch (err) {
    log.warn({ err, origin, requestId, states: latest.size }, 'account states of a peer not applied')
    return (): Verdict => later
  }
}

type PresenceReport = { homeUserId: string; host: string; status: 'online' | 'offline' }

/** Never stored. Ends by time. Contract: 6, status. */
async function reportPresences(
  { orm, bus, clock }: Pick<Deps, 'orm' | 'bus' | 'clock'>,
  reports: PresenceReport[],
  requestId: string | undefined,
) {
  const [first] = reports
  if (!first) return
  const latest = new Map(reports.map(({ homeUserId, status }) => [homeUserId, status]))
  const users = await read<{ id: string; homeUserId: string }>(
    orm.em.fork(),
    `select id::text as id, home_user_id as "homeUserId" from users
     where home_instance = ? and home_user_id in (select jsonb_array_elements_text(?::jsonb)) and not is_deleted`,
    [first.host, JSON.stringify([...latest.keys()])],
  )
  const until = clock.now() + policy.presenceLifetimeMs
  for (const { id: userId, homeUserId } of users) {
    const report = { userId, status: latest.get(homeUserId) ?? 'offline', until }
    void bus.publish(remotePresenceReported, report, { requestId })
  }
}
