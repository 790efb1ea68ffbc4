import { isHost, normalizeHost } from '@gatehouse/contracts'
import { AttachProof } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { hashSecret } from '../../hashing/hash-secret.ts'
import { policy } from '../../policy.ts'
import { changeSelf, type OwnAct } from '../change-account.ts'

/** The token counts once, for a minute, for one instance. federation-fanout verifies it. protocol.md 4.6, step 1. */
export async function issueAttachProof(
  deps: OperationContext & Pick<Deps, 'config'>,
  { caller, targetDomain: typedDomain }: OwnAct & { targetDomain: string },
): Promise<{ token: string }> {
  const targetDomain = normalizeHost(typedDomain.trim())
  const isOwn = targetDomain === deps.config.publicAddress.domain
  if (!isHost(targetDomain) || isOwn) throw refuse.target_domain_invalid()
  const token = deps.random.bytes(policy.attachProofBytes).toString('hex')
  const tokenHash = hashSecret(token)
  await changeSelf(deps, caller, async (user, em) => {
    if (!user.isNative()) throw refuse.native_account_required()
    const expiresAt = new Date(deps.clock.now() + policy.attachProofMs)
    await em.insert(AttachProof, { tokenHash, userId: user.id, targetDomain, expiresAt })
  })
  return { token }
}
