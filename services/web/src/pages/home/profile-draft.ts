import type { ProfileChange, User } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { usePicture } from '../../hooks/use-picture.ts'
import { changedFields, type ProfileValues } from './changed-fields.ts'

export const displayNameMax = 32
export const bioMax = 190

/** A picture of the profile: as it is saved, newly chosen, or taken away. */
function useProfilePicture(saved: string | null) {
  const chosen = usePicture()
  const [removed, setRemoved] = useState(false)
  return {
    src: chosen.src ?? (removed ? null : client.api.uploads.url(saved)),
    pick: (blob: Blob) => (chosen.set(blob), setRemoved(false)),
    remove: () => (chosen.set(null), setRemoved(true)),
    /** Sends a chosen picture. Undefined when nothing changed. */
    save: async (signal: AbortSignal): Promise<string | null | undefined> => {
      if (chosen.blob) return (await client.api.uploads.send(chosen.blob, { signal })).filename
      return removed && saved ? null : undefined
    },
  }
}

/** The profile as it is being edited, and what of it must be sent. */
export function useProfileDraft(user: User) {
  const [values, setValues] = useState<ProfileValues>(() => valuesOf(user))
  const avatar = useProfilePicture(user.avatar)
  const banner = useProfilePicture(user.banner)
  const set = (change: Partial<ProfileValues>) => setValues((before) => ({ ...before, ...change }))

  const toChange = async (signal: AbortSignal): Promise<ProfileChange> => {
    const change = changedFields(valuesOf(user), values)
    if (user.homeInstance) return change
    const [newAvatar, newBanner] = [await avatar.save(signal), await banner.save(signal)]
    if (newAvatar !== undefined) change.avatar = newAvatar
    if (newBanner !== undefined) change.banner = newBanner
    return change
  }
  const problem = [...values.bio].length > bioMax ? `Use at most ${bioMax} characters.` : null
  return { username: user.username, values, set, avatar, banner, problem, toChange }
}

export type ProfileDraft = ReturnType<typeof useProfileDraft>

function valuesOf(user: User): ProfileValues {
  return {
    displayName: user.displayName ?? '',
    bio: user.bio ?? '',
    customStatus: user.customStatus ?? '',
    accentColor: user.accentColor,
    avatarColor: user.avatarColor,
    discoverable: user.discoverable,
    showActivity: user.showActivity ?? true,
  }
}
