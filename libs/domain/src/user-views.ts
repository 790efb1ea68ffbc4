import { accountState, userReply, type AccountState, type UserReply } from '@gatehouse/contracts'
import type { User } from './entities/user.ts'

/** Fields of an account state whose property has another name. */
const renamed = { userId: 'id', version: 'stateVersion' } as const satisfies Partial<
  Record<keyof AccountState, keyof User>
>

type AccountStateProperty = Exclude<keyof AccountState, keyof typeof renamed> | (typeof renamed)[keyof typeof renamed]

const stateFields = Object.keys(accountState.shape) as (keyof AccountState)[]
const propertyOf = (field: keyof AccountState): AccountStateProperty =>
  field in renamed ? renamed[field as keyof typeof renamed] : (field as AccountStateProperty)

/** The properties of a user that its account state is made of. */
export const accountStateProperties: readonly AccountStateProperty[] = stateFields.map(propertyOf)

/** What decides over the tokens of a user. Design: invariant 1. */
export function accountStateOf(user: Pick<User, AccountStateProperty>): AccountState {
  return accountState.parse(Object.fromEntries(stateFields.map((field) => [field, user[propertyOf(field)] ?? null])))
}

const replyFields = Object.keys(userReply.shape) as (keyof UserReply)[]

/**
 * A user as it is read where entities cost too much: the properties that the contracts name, nothing tracks its changes.
 * The password hash is never among them. Every `User` is one.
 */
export type PlainUser = Pick<User, keyof UserReply | AccountStateProperty>

/** The properties of a `PlainUser`. */
export const plainUserProperties = [...new Set([...replyFields, ...accountStateProperties])]

/** What a tombstone is called, wherever a username is shown. Spec: Sanitized user. */
export const deletedUsername = 'Deleted User'

/** Of the contract's optional fields, `isDeleted` is for tombstones and the others for the user's own eyes. */
const publicFields = replyFields.filter((field) => !userReply.shape[field].safeParse(undefined).success)
const ownFields = replyFields.filter((field) => field !== 'isDeleted')

/** A tombstone's fields beside `id` and `createdAt`: null, false, zero or empty, whichever the contract allows. */
const tombstoneFields = {
  ...Object.fromEntries(publicFields.map(emptyEntry)),
  username: deletedUsername,
  status: 'offline',
  isDeleted: true,
} as Omit<UserReply, 'id' | 'createdAt'>

function emptyEntry(field: keyof UserReply): [string, unknown] {
  return [field, [null, false, 0, []].find((empty) => userReply.shape[field].safeParse(empty).success)]
}

/**
 * The sanitized user: the only form in which a user leaves this instance. `isSelf` adds the fields for the user's own
 * eyes; of a tombstone only its id and the time of its creation are left. Spec: Sanitized user; Contract: 2.
 */
export function sanitizeUser(user: Pick<User, keyof UserReply>, isSelf: boolean): UserReply {
  const createdAt = user.createdAt.getTime()
  if (user.isDeleted) return { ...tombstoneFields, id: user.id, createdAt }
  const fields = isSelf ? ownFields : publicFields
  const values = Object.fromEntries(fields.map((field) => [field, user[field] ?? null]))
  return { ...values, createdAt } as UserReply
}
