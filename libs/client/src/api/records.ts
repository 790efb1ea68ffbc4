import type { OwnedSpace } from './errors.ts'

export const avatarColors = ['mint', 'sky', 'lavender', 'coral', 'rose', 'teal', 'amber'] as const
export type AvatarColor = (typeof avatarColors)[number]
export type Status = 'online' | 'offline'

/** An account on another instance that belongs to the same person. */
export type ReplicatedInstance = { origin: string; username: string }

/** A user as every endpoint gives it; times in ms. Contract: 2. */
export type User = {
  id: string
  username: string
  displayName: string | null
  avatar: string | null
  banner: string | null
  accentColor: string | null
  avatarColor: AvatarColor | null
  bio: string | null
  status: Status
  customStatus: string | null
  isAdmin: boolean
  isDeleted?: true
  discoverable: boolean
  profileUpdatedAt: number
  createdAt: number
  homeInstance: string | null
  homeUserId: string | null
  replicatedInstances: ReplicatedInstance[]
  /** Only in one's own record. */
  showActivity?: boolean
}

export type Credentials = { username: string; password: string }
export type SignedIn = { token: string; user: User }

export type Registration = Credentials & {
  displayName?: string | null
  avatarColor?: AvatarColor | null
  homeInstance?: string | null
  homeUserId?: string | null
  inviteToken?: string | null
}

export type Availability = { available: boolean; reason?: string }
export type InviteCheck = { valid: true; name: string } | { valid: false; reason: 'expired' | 'exhausted' | 'invalid' }

export type ProfileChange = {
  displayName?: string | null
  bio?: string | null
  customStatus?: string | null
  accentColor?: string | null
  avatarColor?: AvatarColor
  /** The filename of an upload of one's own. */
  avatar?: string | null
  banner?: string | null
  discoverable?: boolean
  showActivity?: boolean
  replicatedInstances?: ReplicatedInstance[]
}

export type Upload = { filename: string; url: string; size: number; mimetype: string }

export type InstanceInfo = {
  name: string
  version: string
  registrationOpen: boolean
  federatedRegistrationOpen: boolean
  instanceId: string
}

export type DeletionMode = 'soft' | 'full'
export type IdentityDeletion = { success: true } | { success: false; error: string; ownedSpaces?: OwnedSpace[] }
/** What became of one's identity on each origin. */
export type IdentityDeletions = Record<string, IdentityDeletion>
