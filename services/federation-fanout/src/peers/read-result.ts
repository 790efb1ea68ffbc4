import { ownedSpaces, type FanoutResult } from '@gatehouse/contracts'
import type { OutboundAnswer, OutboundFailureKind } from '@gatehouse/outbound'
import { jsonOf, messageOf } from './remote-json.ts'
import { policy } from '../policy.ts'

/** They speak of the peering, of a limit or of a fault, and not of the identity. */
const noAnswers = [401, 403, 408, 429]

/**
 * Needs JSON with `success`: any web server may answer 200. Where the peer decided nothing the order waits. Spec:
 * federation-identity/delete; Contract: 7, fan-out, Deletion orders.
 */
export function readResult(answer: OutboundAnswer): FanoutResult {
  const json = jsonOf(answer)
  if (answer.status === 200 && json?.success === true) return { success: true }
  if (answer.status === 409 && (json?.error === 'owns_spaces' || json?.ownedSpaces !== undefined)) {
    const spaces = ownedSpaces.safeParse(json.ownedSpaces)
    let bytesLeft = policy.ownedSpacesBytes
    const isFitting = (space: object) => (bytesLeft -= Buffer.byteLength(JSON.stringify(space)) + 1) >= 0
    return { success: false, error: 'owns_spaces', ownedSpaces: (spaces.data ?? []).filter(isFitting) }
  }
  const isDecided = json && answer.status >= 400 && answer.status < 500 && !noAnswers.includes(answer.status)
  return { success: false, error: messageOf(answer), ...(!isDecided && waiting) }
}

export function readFailure(kind: OutboundFailureKind): FanoutResult {
  return { success: false, error: failures[kind] ?? 'unreachable', ...waiting }
}

const waiting = { order: 'waiting' } as const
const failures: Partial<Record<OutboundFailureKind, string>> = {
  timeout: 'timeout',
  redirect: 'The instance answered with a redirect',
  too_large: "The instance's answer was too long",
}
