import type { OutboundAnswer } from '@gatehouse/outbound'
import { policy } from '../policy.ts'

/** The JSON object in another instance's answer; undefined when it is none, for example a page of HTML. */
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

/** What another instance says went wrong, on one line and cut to what a person reads; else its status. */
export function messageOf(answer: OutboundAnswer): string {
  const json = jsonOf(answer)
  const said = [json?.error, json?.message].find((text) => typeof text === 'string' && text.trim() !== '')
  return said === undefined ? `The instance answered with status ${answer.status}` : readableText(said as string)
}

/** Another instance's text: no control characters, no broken characters, not endless. */
export function readableText(text: string): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
  return [...line].slice(0, policy.remoteTextMax).join('')
}
