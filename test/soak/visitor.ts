import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../fuzz/random.ts'
import type { Ledger } from './ledger.ts'
import type { System } from './system.ts'

export type Scene = { system: System; ledger: Ledger; random: Random; stop: AbortSignal }

export type Answer = { status: number; headers: Headers; body: Record<string, unknown>; text: string }
type CallOptions = {
  token?: string | undefined
  body?: object | undefined
  form?: Record<string, string> | FormData
  headers?: Record<string, string>
  /** By default any gateway. */
  at?: string
}

/** A replica that is busy, or an answer that nobody wants to see in a soak. */
const tooMuch = new Set([429, 500, 502, 504])
const attempts = 5
const retryMs = 1_000
const answerLimitMs = 60_000

/** Speaks for the clients of one network. What no client should see is a violation; 503 is tried again. */
export function visitorFrom({ system, ledger, random }: Pick<Scene, 'system' | 'ledger' | 'random'>, network: string) {
  const { gateways } = system.cluster
  const send = async (request: string, { token, body, form, headers, at }: CallOptions = {}): Promise<Answer> => {
    const [method = '', path = ''] = request.split(' ')
    const response = await fetch((at ?? random.pick(gateways)) + path, {
      method,
      redirect: 'manual',
      headers: {
        'x-forwarded-for': network,
        ...(body && { 'content-type': 'application/json' }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(form && { body: form instanceof FormData ? form : new URLSearchParams(form) }),
      signal: AbortSignal.timeout(answerLimitMs),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') ?? false
    const read = isJson ? (JSON.parse(text) as Record<string, unknown>) : {}
    return { status: response.status, headers: response.headers, body: read, text }
  }
  const call = async (request: string, options: CallOptions = {}): Promise<Answer> => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await send(request, options)
      ledger.count(`answers with ${answer.status}`)
      if (tooMuch.has(answer.status)) ledger.violation(`${request} was answered with ${answer.status}: ${answer.text}`)
      if (answer.status !== 503 || attempt === attempts) return answer
      await pause(retryMs)
    }
  }
  return { call, gateways }
}
export type Visitor = ReturnType<typeof visitorFrom>

/** Ends early at the end of the run. */
export const rest = async (stop: AbortSignal, ms: number): Promise<void> =>
  await pause(Math.max(ms, 0), undefined, { signal: stop }).catch(() => undefined)
