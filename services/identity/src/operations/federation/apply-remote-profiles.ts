import { avatarColors, homeFields, inOneLine, pictureFields, profileFields } from '@gatehouse/contracts'
import type { applyRemoteProfiles } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { changeUser, recordProfileChange } from '../change-account.ts'
import { updateUploadReferences } from '../profile/update-upload-references.ts'

type RemoteProfiles = z.infer<typeof applyRemoteProfiles.request> & { requestId?: string | undefined }
type ProfileDeps = OperationContext & Pick<Deps, 'uploadCleanup' | 'remotePictures'>

/** Live replicas of that home, where newer. Names stay, pictures follow. Contract: 7, relay; protocol.md 3.2. */
export async function applyProfiles(deps: ProfileDeps, { origin, host, profiles, requestId }: RemoteProfiles) {
  let applied = 0
  for (const profile of profiles) {
    const { homeUserId, profileUpdatedAt } = profile
    const replica = { homeInstance: host, homeUserId, isDeleted: false }
    const stored = await deps.orm.em.fork().findOne(User, replica)
    if (!stored || profileUpdatedAt < stored.profileUpdatedAt) continue
    const user = await changeUser(deps, stored.id, (locked, em) =>
      applyTexts(deps, em, { user: locked, profile, requestId }),
    )
    if (!user) continue
    if (profileUpdatedAt > stored.profileUpdatedAt) applied += 1
    for (const field of pictureFields) {
      const url = profile[field]
      if (url && url !== user[`${field}Source`]) deps.remotePictures.fetchLater({ user, field, url, origin })
    }
  }
  deps.afterCommit.publishEvents()
  if (applied > 0) await deps.uploadCleanup.removeRecordedFiles()
  return { applied }
}

type Change = { user: User | null; profile: RemoteProfiles['profiles'][number]; requestId: string | undefined }

/** Null when the replica is gone or shows something newer. */
async function applyTexts(deps: ProfileDeps, em: EntityManager, { user, profile, requestId }: Change) {
  const { homeUserId, profileUpdatedAt } = profile
  if (!user || user.isDeleted || user.isLocal() || user.homeUserId !== homeUserId) return null
  if (profileUpdatedAt <= user.profileUpdatedAt) return profileUpdatedAt === user.profileUpdatedAt ? user : null
  const texts = textsOf(profile)
  const removed = pictureFields.filter((field) => !profile[field])
  const pictures = Object.fromEntries(removed.map((field) => [field, null]))
  await updateUploadReferences(em, { user, changes: pictures, now: new Date(deps.clock.now()) })
  for (const field of removed) user[`${field}Source`] = null
  Object.assign(user, { ...texts, ...pictures, profileUpdatedAt })
  await recordProfileChange(em, deps, { user, changed: [...Object.keys(texts), ...removed], requestId })
  return user
}

type HomeField = (typeof homeFields)[number]
type Texts = Exclude<HomeField, (typeof pictureFields)[number]>

/** Other instances have other limits: an overlong text is cut, an unknown color is null. */
export function textsOf(profile: { [N in Texts]?: string | null | undefined }): Partial<Pick<User, Texts>> {
  const fields = homeFields.filter(isText).filter((name) => profile[name] !== undefined)
  return Object.fromEntries(fields.map((name): [Texts, unknown] => [name, shownValue(name, profile[name] ?? null)]))
}

const isText = (name: HomeField): name is Texts => profileFields[name].kind !== 'picture'

function shownValue(name: Texts, value: string | null): string | null {
  const field = profileFields[name]
  if (field.kind === 'text') return shortened(value, field)
  if (field.kind === 'avatarColor') return avatarColors.find((color) => color === value) ?? null
  return value && /^#[0-9a-fA-F]{6}$/.test(value) ? value : null
}

/** At most `max` code points. Null when nothing is left. */
export function shortened(value: string | null | undefined, { max, lines }: { max: number; lines: string }) {
  const text = value ?? ''
  const trimmed = (lines === 'one' ? inOneLine(text) : text).trim()
  return [...trimmed].slice(0, max).join('').trim() || null
}
