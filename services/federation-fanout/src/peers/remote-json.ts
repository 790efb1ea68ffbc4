import type { OutboundAnswer } from '@gatehouse/outbound'
import { policy } from '../policy.ts'

/** Undefined: no JSON object. */
export function jsonOf(answer: Pick<OutboundAnswer, 'body'>): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(answer.body.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** One line, cut. Otherwise the status. */
export function messageOf(answer: OutboundAnswer): string {
  const json = jsonOf(answer)
  const said = [json?.error, json?.message].find((text) => typeof text === 'string' && text.trim() !== '')
  return said === undefined ? `The instance answered with status ${answer.status}` : readableText(said as string)
}

export function readableText(text: string): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
  return [...line].slice(0, policy.remoteTextMax).join('')
}
