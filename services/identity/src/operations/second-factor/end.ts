import { secondFactorChanged } from '@gatehouse/contracts'
import { SecondFactor } from '@gatehouse/domain'
import type { ActingAdmin, ActingCaller, Actor, User } from '@gatehouse/domain'
import { refuse, type Refusal } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { changeSelf, recordAccountEvent, actorOf, changeOther, enterAct } from '../change-account.ts'
import { verifyOwnPassword } from '../credentials/verify-password.ts'
import { readDemand } from './demand-of-admins.ts'
import { judgeCode, type FactorDeps, type Judged, createRecoveryCodes } from './judge-code.ts'

type OwnDeps = FactorDeps & Pick<Deps, 'hasher' | 'afterCommit'>
type Confirmed = {
  caller: ActingCaller
  address: string
  password?: unknown
  code: string
  requestId?: string | undefined
}

/**
 * New recovery codes, in place of those that are left. Throws second_factor_local_only, second_factor_off,
 * second_factor_incorrect, second_factor_blocked, password_required, password_incorrect, account_deleted, token_revoked,
 * hashing_busy. Contract: 3, Second factor.
 */
export async function renewRecoveryCodes(deps: OwnDeps, given: Confirmed): Promise<string[]> {
  return await changeFactor(deps, given, async ({ factor, secret }) => {
    const { codes, hashes } = createRecoveryCodes(deps.random, secret)
    factor.recoveryCodes = hashes
    return codes
  })
}

/** Turns the own second factor off. Throws as `renewRecoveryCodes` does. Contract: 3, Second factor. */
export async function endSecondFactor(deps: OwnDeps, given: Confirmed): Promise<void> {
  const state = await changeFactor(deps, given, async (_, user, em) => {
    return await end(deps, em, { user, actor: actorOf(user), requestId: given.requestId })
  })
  await deps.afterCommit.invalidateCache(state)
}

type Removal = { userId: string; actor: ActingAdmin; requestId?: string | undefined }

/**
 * An admin turns off the second factor of who has lost it. Throws user_unknown, target_deleted, second_factor_off, and as
 * `assertCallerCurrent` does. Contract: 5, Second factors of others.
 */
export async function removeSecondFactor(
  deps: OperationContext & Pick<Deps, 'afterCommit'>,
  { userId, actor, requestId }: Removal,
): Promise<void> {
  const state = await changeOther(deps, { userId, actor }, async (user, em) => {
    if (!user.secondFactor) throw refuse.second_factor_off()
    enterAct(em, { action: 'user.second-factor-removed', user, actor, at: deps.clock.now() })
    return await end(deps, em, { user, actor, requestId })
  })
  await deps.afterCommit.invalidateCache(state)
}

type RightCode = Extract<Judged, { factor: SecondFactor }>
type Change<T> = (right: RightCode, user: User, em: EntityManager) => Promise<T>

/** A change that password and code confirm. The failure of a wrong code is committed before it is thrown. */
async function changeFactor<T>(deps: OwnDeps, given: Confirmed, change: Change<T>): Promise<T> {
  const { caller, address, password, code, requestId } = given
  const before = await loadCaller(deps, caller)
  requireOn(before)
  await verifyOwnPassword(deps, before, { password, address })
  type Done = { changed: T; refusal?: undefined } | { refusal: Refusal }
  const done = await changeSelf(deps, caller, async (user, em): Promise<Done> => {
    requireOn(user)
    if (user.passwordHash !== before.passwordHash) throw refuse.password_incorrect()
    const judged = await judgeCode(deps, em, { user, code, wrong: 'second_factor_incorrect', requestId })
    return judged.refusal ? judged : { changed: await change(judged, user, em) }
  })
  deps.afterCommit.publishEvents()
  if (done.refusal) throw done.refusal
  return done.changed
}

/** Throws second_factor_local_only, second_factor_off. */
function requireOn(user: User): void {
  if (!user.isLocal()) throw refuse.second_factor_local_only()
  if (!user.secondFactor) throw refuse.second_factor_off()
}

type Ending = { user: User; actor: Actor; requestId: string | undefined }

async function end(deps: OperationContext, em: EntityManager, { user, actor, requestId }: Ending) {
  user.setSecondFactor(false, await readDemand(em))
  const facts = { user, at: deps.clock.now(), actor, change: 'off' as const, requestId }
  const state = await recordAccountEvent(em, deps, secondFactorChanged, facts)
  await em.nativeDelete(SecondFactor, { userId: user.id })
  return state
}
