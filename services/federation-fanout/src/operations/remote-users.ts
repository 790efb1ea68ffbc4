import {
  deleteFederatedIdentity,
  ownedSpaces,
  resolveReplicatedUser,
  type DeletionMode,
  type resolveStubBody,
} from '@gatehouse/contracts'
import type { Peer } from '@gatehouse/domain'
import { isRefusal, refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { hostOf } from '../peers/signature.ts'
import { policy } from '../policy.ts'

type Identity = { homeUserId: string; homeInstance: string }
type Input = Identity & { mode: DeletionMode; requestId?: string | undefined }

/** Succeeds for a missing account. Throws foreign_identity, owns_spaces. Contract: 7, identity. */
export async function deleteIdentity({ bus }: Pick<Deps, 'bus'>, signer: Peer, input: Input): Promise<void> {
  const { homeUserId, mode, requestId } = input
  const homeInstance = homeOf(signer, input)
  try {
    const options = { requestId, timeoutMs: policy.deleteCallTimeoutMs }
    await bus.request(deleteFederatedIdentity, { homeUserId, homeInstance, mode }, options)
  } catch (error) {
    if (!isRefusal(error) || error.code !== 'owns_spaces') throw error
    throw refuse.owns_spaces({
      fields: { ownedSpaces: ownedSpaces.parse(error.fields['ownedSpaces'] ?? []) },
      cause: error,
    })
  }
}

type Stub = z.infer<typeof resolveStubBody> & { requestId?: string | undefined }

/** Throws foreign_identity, not_found. Contract: 7, stubs; Spec: replicated-user resolver. */
export async function resolveStub({ bus }: Pick<Deps, 'bus'>, signer: Peer, input: Stub) {
  const { requestId, ...identity } = input
  const options = { requestId, timeoutMs: policy.identityCallTimeoutMs }
  return await bus.request(resolveReplicatedUser, { ...identity, homeInstance: homeOf(signer, input) }, options)
}

/** A peer acts for its own host only. Throws foreign_identity. Contract: 7. */
function homeOf(signer: Peer, { homeInstance }: Pick<Identity, 'homeInstance'>): string {
  if (hostOf(homeInstance) !== signer.host) throw refuse.foreign_identity()
  return signer.host
}
