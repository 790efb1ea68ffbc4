import type { requestOptions } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { Passkey, User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { recordSignIn, type Sender } from '../accounts/sign-ins.ts'
import { writeAuditEntry } from '../change-account.ts'
import { refuseSuspended } from '../credentials/log-in.ts'
import { consumeChallenge, issueChallenge, ofLogin, verifyAssertion, type Assertion } from './verify-response.ts'

type LoginDeps = OperationContext & Pick<Deps, 'config' | 'encryptionKey'>

/** The same for everybody, but for the challenge: it names no account. Contract: 3, Passkeys. */
export async function offerPasskeyLogin(deps: LoginDeps): Promise<z.infer<typeof requestOptions>> {
  const challenge = await issueChallenge(deps, deps.orm.em.fork(), ofLogin)
  const { domain: rpId } = deps.config.publicAddress
  return { challenge, timeout: policy.passkeyChallengeMs, rpId, userVerification: 'required' }
}

/** Both factors at once, without a username. A counter that goes back is audited, or logged of a key that is backed up. Contract: 3, Passkeys. */
export async function logInByPasskey(deps: LoginDeps, { response, client }: Sender & { response: Assertion }) {
  const stored = await deps.orm.em.fork().findOne(Passkey, { credentialId: response.id })
  if (!stored) throw refuse.passkey_rejected()
  const { challenge, use } = await verifyAssertion(deps, response, stored)
  const logIn = async (em: EntityManager) => {
    const user = await em.findOne(User, { id: stored.userId }, { lockMode: LockMode.PESSIMISTIC_READ })
    const passkey = await em.findOne(Passkey, { id: stored.id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!passkey || !user?.isLocal() || user.isDeleted) throw refuse.passkey_rejected()
    await consumeChallenge(deps, em, { challenge, purpose: ofLogin })
    refuseSuspended(user)
    const now = await deps.databaseTime(em)
    const detail = { passkey: passkey.name, counter: use.counter, counted: passkey.counter }
    const hasCounted = passkey.hasCounted(use.counter)
    if (passkey.use(use, now)) {
      if (hasCounted) deps.log.info({ ...detail, userId: user.id }, 'the counter of a backed-up passkey did not rise')
      return { user, issuedAt: await recordSignIn(em, { user, now, method: 'passkey', client }) }
    }
    writeAuditEntry(em, { action: 'user.passkey-cloned', user, detail, at: now })
    return null
  }
  const loggedIn = await transaction(deps.orm, logIn, { accountId: stored.userId })
  if (!loggedIn) throw refuse.passkey_cloned()
  return { ...loggedIn, refreshed: false }
}
