import { createHash } from 'node:crypto'
import { isHost, normalizeHost } from '@gatehouse/contracts'
import { AttachProof, type ActingCaller } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { changeSelf } from '../change-account.ts'

type ProofRequest = { caller: ActingCaller; targetDomain: string }

/**
 * The token counts once, for a minute, for one instance. federation-fanout verifies it. Throws target_domain_invalid,
 * native_account_required, account_deleted, token_revoked. federation-wire.md 4, attach 1.
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
  await changeSelf({ orm }, caller, async (user, em) => {
    if (!user.isNative()) throw refuse.native_account_required()
    const expiresAt = new Date(clock.now() + policy.attachProofMs)
    await em.insert(AttachProof, { tokenHash, userId: user.id, targetDomain, expiresAt })
  })
  return token
}
