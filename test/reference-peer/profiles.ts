import { call, isSuccess } from './calls.ts'
import { field, nullableTextField, textField } from './fields.ts'
import { runInBackground } from './instance.ts'
import type { Instance, RelayEvent, User } from './instance.ts'
import { isSameHost } from './origins.ts'
import { enqueueFor, enqueueForAll } from './queue.ts'
import { findUserOfHost } from './users.ts'

export type ProfileFields = Partial<
  Pick<User, 'displayName' | 'avatar' | 'banner' | 'accentColor' | 'avatarColor' | 'bio'>
>

const head = (user: User, now: number) => ({
  contextType: 'profile',
  messageId: user.id,
  encryptionVersion: 0,
  timestamp: now,
})

export function profileUpdateEvent(instance: Instance, user: User): RelayEvent {
  const picture = (name: string | null) => (name === null ? null : `${instance.origin}/api/uploads/${name}`)
  return {
    eventType: 'profile_update',
    ...head(user, instance.now()),
    profileUpdate: {
      homeUserId: user.id,
      homeInstance: instance.origin,
      profileUpdatedAt: user.profileUpdatedAt,
      username: user.username,
      displayName: user.displayName,
      avatar: picture(user.avatar),
      banner: picture(user.banner),
      accentColor: user.accentColor,
      avatarColor: user.avatarColor,
      bio: user.bio,
    },
  }
}

export function presenceUpdateEvent(instance: Instance, user: User, changedAt = instance.now()): RelayEvent {
  const presenceUpdate = { homeUserId: user.id, homeInstance: instance.origin, status: user.status, ts: changedAt }
  return { eventType: 'presence_update', ...head(user, instance.now()), presenceUpdate }
}

export function editProfile(instance: Instance, user: User, fields: ProfileFields): void {
  Object.assign(user, fields, { profileUpdatedAt: instance.now() })
  enqueueForAll(instance, profileUpdateEvent(instance, user))
}

export function setStatus(instance: Instance, user: User, status: string): void {
  user.status = status
  enqueueForAll(instance, presenceUpdateEvent(instance, user))
}

/** An origin newly named in replicatedInstances is sent the profile, and becomes a placeholder. wire: 3, relay */
export function nameInstance(instance: Instance, user: User, replicated: { origin: string; username: string }): void {
  if (user.replicatedInstances.some(({ origin }) => origin === replicated.origin)) return
  user.replicatedInstances.push(replicated)
  enqueueFor(instance, replicated.origin, profileUpdateEvent(instance, user))
}

export type Applied = 'done' | 'attribution_mismatch'

/** `source` is what the sender says of himself in the body. Unknown users are no fault. wire: 3, relay */
export function applyProfileOrPresence(instance: Instance, event: RelayEvent, source: string): Applied {
  const update = event.eventType === 'profile_update' ? event.profileUpdate : event.presenceUpdate
  const [homeInstance, homeUserId] = [textField(update, 'homeInstance'), textField(update, 'homeUserId')]
  if (homeInstance === null || homeUserId === null) return 'attribution_mismatch'
  if (!isSameHost(homeInstance, source)) return 'attribution_mismatch'
  const user = findUserOfHost(instance, homeInstance, homeUserId)
  if (!user) return 'done'
  if (event.eventType === 'profile_update') applyProfile(instance, user, { update, homeInstance })
  else user.status = textField(update, 'status') ?? user.status
  return 'done'
}

type ProfileUpdate = { update: unknown; homeInstance: string }

/** Only a newer one; all six fields are replaced; the username never changes. wire: 3, relay */
function applyProfile(instance: Instance, user: User, { update, homeInstance }: ProfileUpdate): void {
  const updatedAt = Number(field(update, 'profileUpdatedAt'))
  if (!(updatedAt > user.profileUpdatedAt)) return
  user.profileUpdatedAt = updatedAt
  user.displayName = nullableTextField(update, 'displayName') ?? nullableTextField(update, 'username')
  user.accentColor = nullableTextField(update, 'accentColor')
  user.avatarColor = nullableTextField(update, 'avatarColor')
  user.bio = nullableTextField(update, 'bio')
  for (const kind of ['avatar', 'banner'] as const) {
    const url = nullableTextField(update, kind)
    user[kind] = null
    if (url === null || !URL.canParse(url) || !isSameHost(url, homeInstance)) continue
    runInBackground(instance, async () => {
      if (await isPicture(instance, new URL(url))) user[kind] = url
    })
  }
}

async function isPicture(instance: Instance, url: URL): Promise<boolean> {
  const { origin, pathname: path } = url
  const answer = await call(instance, { origin, method: 'GET', path, timeoutMs: instance.timeoutsMs.message })
  return isSuccess(answer) && (answer.headers.get('content-type') ?? '').startsWith('image/')
}
