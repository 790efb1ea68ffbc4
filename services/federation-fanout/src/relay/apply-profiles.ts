import {
  type RelayEvent,
  type RemoteProfile,
  applyRemoteProfiles,
  homeFields,
  isStorableText,
  profileUpdate,
} from '@gatehouse/contracts'
import type { Peer } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { hostOf } from '../peers/signature.ts'
import { policy } from '../policy.ts'

/** `foreign`: not its user. Undefined: unreadable. */
export function readProfile(peer: Peer, event: RelayEvent): RemoteProfile | 'foreign' | undefined {
  const { data } = profileUpdate.safeParse(event.profileUpdate)
  if (!data) return undefined
  if (hostOf(data.homeInstance) !== peer.host) return 'foreign'
  const { homeUserId, profileUpdatedAt, ...texts } = data
  if (![homeUserId, ...Object.values(texts)].every((text) => !text || isStorableText(text))) return undefined
  const fields = Object.fromEntries(homeFields.map((field) => [field, texts[field] ?? null]))
  return { homeUserId, profileUpdatedAt, username: texts.username ?? '', ...fields } as RemoteProfile
}

/** Returns whether it succeeded. federation-wire.md 3. */
export async function applyProfiles(
  { bus, log }: Pick<Deps, 'bus' | 'log'>,
  { origin, host }: Peer,
  profiles: RemoteProfile[],
): Promise<boolean> {
  if (profiles.length === 0) return true
  try {
    await bus.request(applyRemoteProfiles, { origin, host, profiles }, { timeoutMs: policy.profileCallTimeoutMs })
    return true
  } catch (error) {
    log.warn({ err: error, origin, profiles: profiles.length }, 'remote profiles not applied')
    return false
  }
}
