import { avatarColors, type AvatarColor } from '@gatehouse/contracts'
import { User, accountStateOf, nextId } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { enqueueAccountChange } from './account-change.ts'
import { claimFirstAdmin } from './claim-first-admin.ts'

/** How a registration ended. `issuedAt`, in milliseconds, is when its token is born: never after the account was seen. */
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
export async function insertAccount(
  deps: Pick<Deps, 'clock' | 'random'>,
  em: EntityManager,
  account: NewAccount,
): Promise<User> {
  const id = await nextId(em)
  const { requestId, home, ...columns } = account
  const user = em.create(User, {
    ...columns,
    ...home,
    id,
    isAdmin: home === null && (await claimFirstAdmin(em, id)),
    createdAt: new Date(deps.clock.now()),
  })
  await em.persist(user).flush()
  await enqueueAccountChange(em, deps, { state: accountStateOf(user), requestId })
  return user
}

/** Names are compared as they are stored. Throws username_taken. Spec: Registration 9. */
export async function refuseTakenName(em: EntityManager, username: string, exceptId?: string): Promise<void> {
  const owner = await em.findOne(User, { username }, { fields: ['id'] })
  if (owner && owner.id !== exceptId) throw refuse.username_taken()
}

/** The colour asked for, or a random one. Spec: User record, avatarColor. */
export function pickAvatarColor({ random }: Pick<Deps, 'random'>, asked: unknown): AvatarColor {
  const known = avatarColors.find((color) => color === asked)
  return known ?? avatarColors[random.below(avatarColors.length)]!
}
