import { secondFactorChanged } from '@gatehouse/contracts'
import { SecondFactor, type Actor, type User } from '@gatehouse/domain'
import { refuse, type Refusal } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { enqueueNotice } from '../../mail/outbox.ts'
import { createRecoveryCodes, judgeCode, readDemand, type FactorDeps, type RightCode } from '../accounts/judge-code.ts'
import {
  actorOf,
  changeOther,
  recordAccountEvent,
  type AdminAct,
  type Cause,
  writeAuditEntry,
} from '../change-account.ts'
import { changeConfirmed, type Confirmed } from '../credentials/verify-password.ts'

type OwnDeps = FactorDeps & Pick<Deps, 'hasher'>
type ConfirmedByCode = Confirmed & { code: string }

/** New recovery codes, in place of those that are left. Contract: 3, Second factor. */
export async function renewRecoveryCodes(
  deps: OwnDeps,
  confirmation: ConfirmedByCode,
): Promise<{ recoveryCodes: string[] }> {
  return await changeFactor(deps, confirmation, async ({ factor, secret }) => {
    const { codes, hashes } = createRecoveryCodes(deps.random, secret)
    factor.recoveryCodes = hashes
    return { recoveryCodes: codes }
  })
}

/** Turns the own second factor off. Contract: 3, Second factor. */
export async function endSecondFactor(deps: OwnDeps, confirmation: ConfirmedByCode): Promise<void> {
  const state = await changeFactor(deps, confirmation, async (_, user, em) => {
    return await end(deps, em, { user, actor: actorOf(user), requestId: confirmation.requestId })
  })
  await deps.afterCommit.invalidateCache(state)
}

/** An admin turns off the second factor of who has lost it. Contract: 5, Second factors of others. */
export async function removeSecondFactor(deps: OperationContext, act: AdminAct): Promise<void> {
  const { actor, requestId } = act
  const state = await changeOther(deps, act, async (user, em) => {
    if (!user.secondFactor) throw refuse.second_factor_off()
    writeAuditEntry(em, { action: 'user.second-factor-removed', user, actor, at: deps.clock.now() })
    return await end(deps, em, { user, actor, requestId })
  })
  await deps.afterCommit.invalidateCache(state)
}

type Change<T> = (right: RightCode, user: User, em: EntityManager) => Promise<T>

/** A change that password and code confirm. The failure of a wrong code is committed before it is thrown. */
async function changeFactor<T>(
  deps: OwnDeps,
  { code, ...confirmation }: ConfirmedByCode,
  change: Change<T>,
): Promise<T> {
  const { requestId } = confirmation
  type Done = { changed: T; refusal?: undefined } | { refusal: Refusal }
  const done = await changeConfirmed(deps, { ...confirmation, judge: requireOn }, async (user, em): Promise<Done> => {
    const judgement = await judgeCode(deps, em, { user, code, wrong: 'second_factor_incorrect', requestId })
    return judgement.refusal ? judgement : { changed: await change(judgement, user, em) }
  })
  deps.afterCommit.publishEvents()
  if (done.refusal) throw done.refusal
  return done.changed
}

function requireOn(user: User): void {
  if (!user.isLocal()) throw refuse.second_factor_local_only()
  if (!user.secondFactor) throw refuse.second_factor_off()
}

async function end(deps: OperationContext, em: EntityManager, { user, actor, requestId }: Cause & { actor: Actor }) {
  user.setSecondFactor(false, await readDemand(em))
  const at = deps.clock.now()
  await enqueueNotice(em, { user, kind: 'second_factor_off', at })
  const facts = { user, at, actor, change: 'off' as const, requestId }
  const state = await recordAccountEvent(em, deps, secondFactorChanged, facts)
  await em.nativeDelete(SecondFactor, { userId: user.id })
  return state
}
