/**
 * What there is to know of a user, without the machinery of an entity: for those who read thousands at a time. Every
 * `User` is one. Times in milliseconds, but `createdAt`.
 */
export type UserFacts = {
  id: string
  username: string
  displayName?: string | null | undefined
  avatar?: string | null | undefined
  banner?: string | null | undefined
  bio?: string | null | undefined
  customStatus?: string | null | undefined
  accentColor?: string | null | undefined
  avatarColor?: string | null | undefined
  status: 'online' | 'offline'
  isAdmin: boolean
  isDeleted: boolean
  passwordChangedAt?: number | null | undefined
  sessionsEndedAt?: number | null | undefined
  stateVersion: number
  homeInstance?: string | null | undefined
  homeUserId?: string | null | undefined
  replicatedInstances: string
  discoverable: boolean
  showActivity: boolean
  profileUpdatedAt: number
  createdAt: Date
}

/** What `userFacts` needs of the table `users`; the password hash is not among it. */
export const userColumns = [
  'id, username, display_name, avatar, banner, bio, custom_status, accent_color, avatar_color, status, is_admin',
  'is_deleted, password_changed_at, sessions_ended_at, state_version, home_instance, home_user_id',
  'replicated_instances, discoverable, show_activity, profile_updated_at, created_at',
]
  .join(', ')
  .replace(/\w+/g, 'users.$&')

/** A row of the table `users` as the driver gives it; 64-bit numbers come as text. */
export type UserRow = {
  id: string
  username: string
  display_name: string | null
  avatar: string | null
  banner: string | null
  bio: string | null
  custom_status: string | null
  accent_color: string | null
  avatar_color: string | null
  status: 'online' | 'offline'
  is_admin: boolean
  is_deleted: boolean
  password_changed_at: string | null
  sessions_ended_at: string | null
  state_version: number
  home_instance: string | null
  home_user_id: string | null
  replicated_instances: string
  discoverable: boolean
  show_activity: boolean
  profile_updated_at: string
  created_at: string
}

export function userFacts(row: UserRow): UserFacts {
  return {
    id: row.id,
    username: row.username,
    displayName: row.display_name,
    avatar: row.avatar,
    banner: row.banner,
    bio: row.bio,
    customStatus: row.custom_status,
    accentColor: row.accent_color,
    avatarColor: row.avatar_color,
    status: row.status,
    isAdmin: row.is_admin,
    isDeleted: row.is_deleted,
    passwordChangedAt: row.password_changed_at === null ? null : Number(row.password_changed_at),
    sessionsEndedAt: row.sessions_ended_at === null ? null : Number(row.sessions_ended_at),
    stateVersion: row.state_version,
    homeInstance: row.home_instance,
    homeUserId: row.home_user_id,
    replicatedInstances: row.replicated_instances,
    discoverable: row.discoverable,
    showActivity: row.show_activity,
    profileUpdatedAt: Number(row.profile_updated_at),
    createdAt: new Date(row.created_at),
  }
}
