import { requireSigned } from './checks.ts'
import { textField } from './fields.ts'
import type { Instance } from './instance.ts'
import { refused, signedReply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'

/** Step 3, at the new home. Nobody attaches here, so no token is valid. Every reason against one is the same answer. wire: 4, attach */
export function answerVerifyAttachProof(instance: Instance, request: ReceivedRequest): Reply {
  const peer = requireSigned(instance, request, { limit: 'lookups' })
  if (textField(request.body, 'token') === null) throw refused(400, 'token is required')
  return signedReply(instance, peer.secret, { valid: false })
}
