import type { approvalRequestReply } from '@gatehouse/contracts'
import type { ApprovalRequest } from '@gatehouse/domain'
import type { z } from 'zod'

/** A request as admins see it: never its secret. Contract: 7. */
export function requestReply(request: ApprovalRequest): z.infer<typeof approvalRequestReply> {
  return {
    id: request.id,
    sourceOrigin: request.sourceOrigin,
    instanceName: request.instanceName ?? null,
    instanceId: request.instanceId ?? null,
    status: request.status,
    createdAt: request.createdAt.getTime(),
  }
}
