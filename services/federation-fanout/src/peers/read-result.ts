import { ownedSpaces, type FanoutResult } from '@gatehouse/contracts'
import type { OutboundAnswer, OutboundFailureKind } from '@gatehouse/outbound'
import { jsonOf, messageOf } from './remote-json.ts'
import { policy } from '../policy.ts'

/** Needs JSON with `success`: any web server may answer 200. Spec: federation-identity/delete; Contract: 7, fan-out. */
export function readResult(answer: OutboundAnswer): FanoutResult {
  const json = jsonOf(answer)
  if (answer.status === 200 && json?.success === true) return { success: true }
  if (answer.status === 409 && (json?.error === 'owns_spaces' || json?.ownedSpaces !== undefined)) {
    const spaces = ownedSpaces.safeParse(json.ownedSpaces)
    let bytesLeft = policy.ownedSpacesBytes
    const isFitting = (space: object) => (bytesLeft -= Buffer.byteLength(JSON.stringify(space)) + 1) >= 0
    return { success: false, error: 'owns_spaces', ownedSpaces: (spaces.data ?? []).filter(isFitting) }
  }
  return { success: false, error: messageOf(answer) }
}

export function readFailure(kind: OutboundFailureKind): FanoutResult {
  if (kind === 'timeout') return { success: false, error: 'timeout' }
  if (kind === 'redirect') return { success: false, error: 'The instance answered with a redirect' }
  if (kind === 'too_large') return { success: false, error: "The instance's answer was too long" }
  return { success: false, error: 'unreachable' }
}
