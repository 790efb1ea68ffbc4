import { createHash } from 'node:crypto'
import { isHost, normalizeHost } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { AttachProof, assertCurrent, type ActingCaller } from '@gatehouse/domain'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { policy } from '../../policy.ts'
import { lockUser } from '../../queries/load-user.ts'

type ProofRequest = { caller: ActingCaller; targetDomain: string }

/**
 * A token by which another instance learns that a native account here asks for a detached account there: random, for a
 * minute, once, and for that instance alone. Only its hash is stored; federation-fanout answers the question and uses it up.
 * Throws target_domain_invalid, native_account_required, account_deleted, token_revoked. federation-wire.md 4, attach 1.
 */
export async function issueAttachProof(
  { orm, clock, random, config }: OperationContext & Pick<Deps, 'config'>,
  { caller, targetDomain: given }: ProofRequest,
): Promise<string> {
  const targetDomain = normalizeHost(given.trim())
  const isOwn = targetDomain === config.publicAddress.domain
  if (!isHost(targetDomain) || isOwn) throw refuse.target_domain_invalid()
  const token = random.bytes(policy.attachProofBytes).toString('hex')
  const tokenHash = createHash('sha256').update(token).digest('hex')
  const issue = async (em: Parameters<typeof lockUser>[0]) => {
    const user = await lockUser(em, caller.userId)
    assertCurrent(user, caller)
    if (!user.isNative()) throw refuse.native_account_required()
    const expiresAt = new Date(clock.now() + policy.attachProofMs)
    await em.insert(AttachProof, { tokenHash, userId: user.id, targetDomain, expiresAt })
  }
  await runTransaction(orm, issue, { accountId: caller.userId })
  return token
}
