import type { ApprovalRequest } from '@gatehouse/domain'
import type { z } from 'zod'
import type { approvalRequestReply } from '@gatehouse/contracts'

/** Never the secret or token. Contract: 7. */
export function requestReply(request: ApprovalRequest): z.infer<typeof approvalRequestReply> {
  return {
    id: request.id,
    origin: request.sourceOrigin,
    direction: request.direction,
    instanceName: request.instanceName ?? null,
    requestedAt: request.createdAt.getTime(),
    expiresAt: request.expiresAt.getTime(),
  }
}
