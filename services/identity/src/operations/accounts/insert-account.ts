import { avatarColors, userCreated, type AvatarColor, type registerBody } from '@gatehouse/contracts'
import { nextId, transaction } from '@gatehouse/database'
import { InstanceSettings, User, noPasswordHash, type StubUpgrade } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { recordAccountEvent, refuseViolation } from '../change-account.ts'
import { readDemand } from './judge-code.ts'
import type { IssueTime, Sender } from './sign-ins.ts'
import { claimName, findWaiting } from './waiting.ts'

export type RegistrationDeps = OperationContext & Pick<Deps, 'config' | 'hasher' | 'proofKeys'>

/** Without a password: by an identity provider. */
export type Registration = Omit<z.output<typeof registerBody>, 'homeInstance' | 'password'> &
  Sender & { password?: string }

/** `issuedAt` is the time of issue of the token. */
export type Registered = { user: User; created: boolean; issuedAt: IssueTime }

export type NewAccount = Omit<StubUpgrade, 'homeUserId'> & {
  hasPassword: boolean
  /** Null for a local account. */
  home: { homeInstance: string; homeUserId: string | null } | null
  requestId: string | undefined
}

/** The first local account is an admin; others wait for its commit. Throws username_taken. Spec: Registration 9; Contract: 3, register, Approval. */
export async function insertAccount(deps: OperationContext, em: EntityManager, account: NewAccount): Promise<User> {
  const id = await nextId(em)
  const { requestId, home, ...columns } = account
  if (home === null) await claimName(deps, em, columns.username)
  const unclaimed = { id: 1, firstAdminId: null }
  const isAdmin = home === null && (await em.nativeUpdate(InstanceSettings, unclaimed, { firstAdminId: id })) === 1
  const at = await deps.databaseTime(em)
  const user = em.create(User, { ...columns, ...home, id, isAdmin, createdAt: new Date(at) })
  await em.persist(user).flush()
  if (isAdmin) user.demandSecondFactor(await readDemand(em))
  await recordAccountEvent(em, deps, userCreated, { user, at, origin: home ? 'federated' : 'local', requestId })
  return user
}

/** What a registration says of an account, with the hash of its password. Throws hashing_busy. */
export async function readRegistration(deps: RegistrationDeps, registration: Registration) {
  const { password } = registration
  return {
    passwordHash: password === undefined ? noPasswordHash : await deps.hasher.hash(password, registration.address),
    hasPassword: password !== undefined,
    displayName: registration.displayName ?? null,
    avatarColor: pickAvatarColor(deps, registration.avatarColor),
    requestId: registration.requestId,
  }
}

/** Throws username_taken. */
export async function insertUniquely<T>({ orm }: Pick<Deps, 'orm'>, insert: (em: EntityManager) => Promise<T>) {
  return await refuseViolation(transaction(orm, insert), 'users_username_unique', refuse.username_taken)
}

/** Throws username_taken. Spec: Registration 9. */
export async function refuseTakenName(em: EntityManager, username: string, exceptId?: string): Promise<void> {
  const owner = await em.findOne(User, { username }, { fields: ['id'] })
  if (owner && owner.id !== exceptId) throw refuse.username_taken()
}

/** Neither an account has it nor a registration that waits. Throws username_taken. Contract: 3, Approval. */
export async function refuseUnfreeName(deps: Pick<Deps, 'orm' | 'databaseTime'>, username: string): Promise<void> {
  const em = deps.orm.em.fork()
  await refuseTakenName(em, username)
  if (await findWaiting(deps, em, { username })) throw refuse.username_taken()
}

/** An unknown color is replaced by a random one. Spec: User record, avatarColor. */
export function pickAvatarColor({ random }: Pick<OperationContext, 'random'>, requested: unknown): AvatarColor {
  const avatarColor = avatarColors.find((color) => color === requested)
  return avatarColor ?? avatarColors[random.below(avatarColors.length)] ?? avatarColors[0]
}
