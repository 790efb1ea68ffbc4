import { resolveReplicatedUser, type resolveStubBody } from '@gatehouse/contracts'
import type { Peer } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { homeOf } from './delete-identity.ts'

type Input = z.infer<typeof resolveStubBody> & { requestId?: string | undefined }

/** Throws foreign_identity, not_found. Contract: 7, stubs; Spec: replicated-user resolver. */
export async function resolveStub({ bus }: Pick<Deps, 'bus'>, signer: Peer, input: Input) {
  const { requestId, ...identity } = input
  const options = { requestId, timeoutMs: policy.identityCallTimeoutMs }
  return await bus.request(resolveReplicatedUser, { ...identity, homeInstance: homeOf(signer, input) }, options)
}
