import type { AvatarColor, ProfileChange } from '@gatehouse/client'

/** The profile as its form holds it: empty text stands for null. */
export type ProfileValues = {
  displayName: string
  bio: string
  customStatus: string
  accentColor: string | null
  avatarColor: AvatarColor | null
  discoverable: boolean
  showActivity: boolean
}

/** Only what differs is sent, so that an edit never undoes one made elsewhere meanwhile. Empty text is null. */
export function changedFields(before: ProfileValues, after: ProfileValues): ProfileChange {
  const names = Object.keys(after) as Array<keyof ProfileValues>
  const changed = names.filter((name) => after[name] !== before[name])
  return Object.fromEntries(
    changed.map((name) => {
      const value = after[name]
      return [name, typeof value === 'string' ? value.trim() || null : value]
    }),
  )
}
