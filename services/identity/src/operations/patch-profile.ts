import type { ProfileBody } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { policy } from '../policy.ts'
import { lockUser } from '../queries/lock-user.ts'
import { removeRecordedFiles } from '../uploads/recorded-files.ts'
import { exchangeUploads } from './exchange-uploads.ts'
import { normalizeReplicatedInstances } from './replicated-instances.ts'

type Needs = Pick<Deps, 'orm' | 'clock' | 'config' | 'log'>
type Input = { userId: string; changes: ProfileBody }

/** What a federated account's home instance decides. Contract: 3, PATCH. */
const managedAtHome = ['displayName', 'avatar', 'banner', 'accentColor', 'avatarColor', 'bio'] as const

/**
 * Changes the own profile: fields that are absent stay. Files that were replaced leave the disk. Throws
 * account_deleted, profile_managed_at_home, file_not_own, origin_invalid. Contract: 3, PATCH.
 */
export async function patchProfile(deps: Needs, { userId, changes }: Input): Promise<User> {
  const columns = columnsOf(deps, changes)
  const { user, replaced } = await deps.orm.em.fork().transactional(async (em) => {
    const user = await lockUser(em, userId)
    if (!user || user.isDeleted) throw refuse.account_deleted()
    if (!user.isLocal() && managedAtHome.some((field) => field in changes)) throw refuse.profile_managed_at_home()
    if (Object.keys(columns).length === 0) return { user, replaced: 0 }
    const now = deps.clock.now()
    const replaced = await exchangeUploads(em, { user, changes, now })
    em.assign(user, { ...columns, profileUpdatedAt: now })
    return { user, replaced }
  })
  if (replaced > 0) await removeRecordedFiles(deps, { atMost: policy.filesRemovedAtOnce })
  return user
}

function columnsOf({ config }: Pick<Deps, 'config'>, changes: ProfileBody) {
  const { replicatedInstances, ...plain } = changes
  const named = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined))
  if (replicatedInstances === undefined) return named
  const allowHttp = config.reach.allowPrivate.length > 0
  const places = normalizeReplicatedInstances(replicatedInstances, { allowHttp })
  return { ...named, replicatedInstances: JSON.stringify(places) }
}
