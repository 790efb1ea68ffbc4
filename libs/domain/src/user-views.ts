import { accountState, adminFieldNames, userReply, type AccountState, type UserReply } from '@gatehouse/contracts'
import type { User } from './entities/user.ts'

const renamed = { userId: 'id', version: 'stateVersion' } as const satisfies Partial<
  Record<keyof AccountState, keyof User>
>

type AccountStateProperty = Exclude<keyof AccountState, keyof typeof renamed> | (typeof renamed)[keyof typeof renamed]

const stateFields = Object.keys(accountState.shape) as (keyof AccountState)[]
const propertyOf = (field: keyof AccountState): AccountStateProperty =>
  field in renamed ? renamed[field as keyof typeof renamed] : (field as AccountStateProperty)

export const accountStateProperties: readonly AccountStateProperty[] = stateFields.map(propertyOf)

/** What decides over tokens. Of two states the one with the higher version counts. Design: invariant 1. */
export function accountStateOf(user: Pick<User, AccountStateProperty>): AccountState {
  return accountState.parse(Object.fromEntries(stateFields.map((field) => [field, user[propertyOf(field)] ?? null])))
}

const replyFields = Object.keys(userReply.shape) as (keyof UserReply)[]

/** For reads where entities cost too much. Never holds the password hash. */
export type PlainUser = Pick<User, keyof UserReply | AccountStateProperty>

export const plainUserProperties = [...new Set([...replyFields, ...accountStateProperties])]

/** Shown in place of the stored `!deleted:<id>`. Spec: Sanitized user. */
export const deletedUsername = 'Deleted User'

const publicFields = replyFields.filter((field) => !userReply.shape[field].safeParse(undefined).success)
const isAdminField = (field: string): boolean => (adminFieldNames as readonly string[]).includes(field)
const ownFields = replyFields.filter((field) => field !== 'isDeleted' && !isAdminField(field))

const tombstoneFields = {
  ...Object.fromEntries(publicFields.map(emptyEntry)),
  username: deletedUsername,
  status: 'offline',
  isDeleted: true,
} as Omit<UserReply, 'id' | 'createdAt'>

function emptyEntry(field: keyof UserReply): [string, unknown] {
  return [field, [null, false, 0, []].find((empty) => userReply.shape[field].safeParse(empty).success)]
}

/** Only this form of a user leaves the instance. Spec: Sanitized user; Contract: 2, fields. */
export function sanitizeUser(user: Pick<User, keyof UserReply>, isSelf: boolean): UserReply {
  const createdAt = user.createdAt.getTime()
  if (user.isDeleted) return { ...tombstoneFields, id: user.id, createdAt }
  const fields = isSelf ? ownFields : publicFields
  const values = Object.fromEntries(fields.map((field) => [field, user[field] ?? null]))
  return { ...values, createdAt } as UserReply
}

/** What admins see, and whether a second factor is on. A tombstone has no more than for others. Contract: 2, fields. */
export function adminView(user: Pick<User, keyof UserReply>): UserReply {
  if (user.isDeleted) return sanitizeUser(user, false)
  const values = Object.fromEntries(adminFieldNames.map((field) => [field, user[field] ?? null]))
  return { ...sanitizeUser(user, false), ...values, secondFactor: user.secondFactor }
}
