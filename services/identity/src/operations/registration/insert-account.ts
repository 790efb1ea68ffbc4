import { avatarColors, userCreated, type AvatarColor, type registerBody } from '@gatehouse/contracts'
import { InstanceSettings, User, accountStateOf, nextId } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { recordAccountEvent } from '../account-events.ts'

/** What a registration uses. */
export type RegistrationDeps = OperationContext & Pick<Deps, 'config' | 'hasher' | 'afterCommit'>

export type Registration = z.output<typeof registerBody> & { address: string; requestId?: string | undefined }

/** `issuedAt`, in milliseconds, is the time of issue of the token: never later than the account was seen. */
export type Registered = { user: User; created: boolean; issuedAt: number }

export type NewAccount = {
  username: string
  passwordHash: string
  displayName: string | null
  avatarColor: AvatarColor
  /** Null for a local account. */
  home: { homeInstance: string; homeUserId: string | null } | null
  requestId: string | undefined
}

/** Inserts an account, `offline`; the first local one becomes admin. Spec: Registration 9. */
export async function insertAccount(deps: OperationContext, em: EntityManager, account: NewAccount): Promise<User> {
  const id = await nextId(em)
  const { requestId, home, ...columns } = account
  const isAdmin = home === null && (await claimFirstAdmin(em, id))
  const now = await deps.databaseTime(em)
  const user = em.create(User, { ...columns, ...home, id, isAdmin, createdAt: new Date(now) })
  await em.persist(user).flush()
  const facts = { state: accountStateOf(user), at: now, origin: home ? 'federated' : 'local', requestId } as const
  await recordAccountEvent(em, deps, userCreated, facts)
  return user
}

/**
 * Whether a new local account becomes the first admin. The settings row is updated once: of concurrent registrations one
 * waits for the other's commit and then finds it set. Spec: Registration 9; Contract: 3, register.
 */
async function claimFirstAdmin(em: EntityManager, userId: string): Promise<boolean> {
  const updated = await em.nativeUpdate(InstanceSettings, { id: 1, firstAdminId: null }, { firstAdminId: userId })
  return updated === 1
}

/** Names are compared as they are stored. Throws username_taken. Spec: Registration 9. */
export async function refuseTakenName(em: EntityManager, username: string, exceptId?: string): Promise<void> {
  const owner = await em.findOne(User, { username }, { fields: ['id'] })
  if (owner && owner.id !== exceptId) throw refuse.username_taken()
}

/** The requested color, or a random one. Spec: User record, avatarColor. */
export function pickAvatarColor({ random }: Pick<OperationContext, 'random'>, requested: unknown): AvatarColor {
  const known = avatarColors.find((color) => color === requested)
  return known ?? avatarColors[random.below(avatarColors.length)] ?? avatarColors[0]
}
