import type { ProfileChange, User } from '@gatehouse/client'
import { profileFieldNames, profileFields } from '@gatehouse/contracts/constants'
import type { pictureFields, ProfileFieldName } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { changedFields } from '../../components/changed-fields.ts'
import { useClient } from '../../hooks.ts'
import { type Picture, useImageFile, useKeptState } from '../../kept-state.ts'

function useProfilePicture(key: string, saved: string | null) {
  const client = useClient()
  const selected = useImageFile(key)
  const [removed, setRemoved] = useState(false)
  return {
    src: selected.src ?? (removed ? null : client.uploadUrl(saved)),
    onPick: (picture: Picture) => (selected.onPick(picture), setRemoved(false)),
    onRemove: () => (selected.onRemove(), setRemoved(true)),
    /** The file name. Null: removed. Undefined: unchanged. */
    upload: async (signal: AbortSignal): Promise<string | null | undefined> => {
      const { picture } = selected
      if (picture) return (await client.upload(picture.blob, { signal, crop: picture.crop })).filename
      return removed && saved ? null : undefined
    },
  }
}

export function useProfileDraft(user: User) {
  const [values, setValues] = useKeptState(`profile ${user.id}`, valuesOf(user))
  const [shown] = useKeptState(`profile before ${user.id}`, valuesOf(user))
  const avatar = useProfilePicture(`avatar ${user.id}`, user.avatar)
  const banner = useProfilePicture(`banner ${user.id}`, user.banner)
  const set = (change: Partial<ProfileValues>) => setValues((before) => ({ ...before, ...change }))

  const toChange = async (signal: AbortSignal): Promise<ProfileChange> => {
    const change = profileChange(shown, values)
    if (user.homeInstance) return change
    const [newAvatar, newBanner] = [await avatar.upload(signal), await banner.upload(signal)]
    if (newAvatar !== undefined) change.avatar = newAvatar
    if (newBanner !== undefined) change.banner = newBanner
    return change
  }
  const isChanged = Object.keys(changedFields(shown, values)).length > 0
  return { username: user.username, values, isChanged, set, avatar, banner, toChange }
}

export type ProfileDraft = ReturnType<typeof useProfileDraft>

type DraftName = Exclude<ProfileFieldName, (typeof pictureFields)[number]>
const isDraftName = (name: ProfileFieldName): name is DraftName => profileFields[name].kind !== 'picture'
const draftNames = profileFieldNames.filter(isDraftName)

/** An empty text stands for null. */
export type ProfileValues = {
  [N in DraftName]: (typeof profileFields)[N]['kind'] extends 'text' ? string : Exclude<User[N], undefined>
}

const emptyValues = { text: '', flag: true, accentColor: null, avatarColor: null, picture: null }

function valuesOf(user: User): ProfileValues {
  const valueOf = (name: DraftName) => user[name] ?? emptyValues[profileFields[name].kind]
  return Object.fromEntries(draftNames.map((name) => [name, valueOf(name)])) as ProfileValues
}

/** Empty texts become null. */
export function profileChange(before: ProfileValues, after: ProfileValues): ProfileChange {
  const changed = Object.entries(changedFields(before, after))
  return Object.fromEntries(
    changed.map(([name, value]) => [name, typeof value === 'string' ? value.trim() || null : value]),
  )
}
