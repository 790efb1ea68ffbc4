import { secondFactorChanged } from '@gatehouse/contracts'
import { SecondFactor, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps } from '../../deps.ts'
import { enqueueNotice } from '../../mail/outbox.ts'
import { createRecoveryCodes, decryptSecret, encryptSecret, normalizeCode, readDemand } from '../accounts/judge-code.ts'
import type { FactorDeps } from '../accounts/judge-code.ts'
import { findStep, otpauthUri, secretBytes, toBase32 } from '../accounts/totp.ts'
import { actorOf, changeSelf, recordAccountEvent, type OwnAct } from '../change-account.ts'
import { changeConfirmed, type Confirmed } from '../credentials/verify-password.ts'

/** Null and 0 while none is on. Contract: 3, Second factor. */
export async function readSecondFactor({ orm }: Pick<Deps, 'orm'>, userId: string) {
  const factor = await orm.em.fork().findOne(SecondFactor, { userId, confirmedAt: { $ne: null } })
  return { since: factor?.confirmedAt?.getTime() ?? null, recoveryCodesLeft: factor?.recoveryCodes.length ?? 0 }
}

/** The secret waits ten minutes for `confirmSecondFactor`, in place of one that waits. Contract: 3, Second factor. */
export async function beginSecondFactor(deps: FactorDeps & Pick<Deps, 'hasher' | 'config'>, confirmation: Confirmed) {
  const secret = deps.random.bytes(secretBytes)
  const username = await changeConfirmed(
    deps,
    { ...confirmation, judge: requireWithout },
    async ({ id, username }, em) => {
      await em.nativeDelete(SecondFactor, { userId: id })
      const createdAt = new Date(await deps.databaseTime(em))
      await em.insert(SecondFactor, { userId: id, secret: encryptSecret(deps, id, secret), createdAt })
      return username
    },
  )
  const { domain: issuer } = deps.config.publicAddress
  return { secret: toBase32(secret), otpauthUri: otpauthUri(secret, { issuer, username }) }
}

/** Turns the factor on. Nothing tells the recovery codes again, and the code is used up. Contract: 3, Second factor. */
export async function confirmSecondFactor(deps: FactorDeps, { caller, code, requestId }: OwnAct & { code: string }) {
  const { codes, state } = await changeSelf(deps, caller, async (user, em) => {
    requireWithout(user)
    const factor = await em.findOne(SecondFactor, { userId: user.id })
    const now = await deps.databaseTime(em)
    if (!factor?.waitsAt(now)) throw refuse.second_factor_not_waiting()
    const secret = decryptSecret(deps, factor)
    const step = findStep(secret, normalizeCode(code), now)
    if (step === undefined) throw refuse.second_factor_incorrect()
    const { codes, hashes } = createRecoveryCodes(deps.random, secret)
    factor.confirm({ step, recoveryCodes: hashes, now })
    user.setSecondFactor(true, await readDemand(em))
    await enqueueNotice(em, { user, kind: 'second_factor_on', at: now })
    const facts = { user, at: now, actor: actorOf(user), change: 'on' as const, requestId }
    return { codes, state: await recordAccountEvent(em, deps, secondFactorChanged, facts) }
  })
  await deps.afterCommit.invalidateCache(state)
  return { recoveryCodes: codes }
}

function requireWithout(user: User): void {
  if (!user.isLocal()) throw refuse.second_factor_local_only()
  if (user.secondFactor) throw refuse.second_factor_on()
}
