import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { History } from './history.ts'

export type Answer = { status: number; body: Record<string, unknown> }

/** Calls the instance under test through any of its gateways. */
export type InstanceClient = {
  gateways: readonly string[]
  /** Null when no answer came: whether the request was carried out is then unknown. */
  call(
    method: string,
    path: string,
    options?: { body?: unknown; token?: string; gateway?: string },
  ): Promise<Answer | null>
}

const responseTimeoutMs = 20_000
const expectedStatuses = new Set([200, 201, 400, 401, 403, 404, 409, 429, 502, 503])

/** Each call comes from an address of its own, so that limits by address do not apply. */
export function createInstanceClient(gateways: readonly string[], history: History): InstanceClient & AsyncDisposable {
  const dispatcher = new Agent({ connections: 32, headersTimeout: responseTimeoutMs, bodyTimeout: responseTimeoutMs })
  return {
    gateways,
    async call(method, path, { body, token, gateway = pick(gateways) } = {}) {
      try {
        const response = await request(`${gateway}${path}`, {
          method: method as 'GET',
          dispatcher,
          headers: {
            'x-forwarded-for': `203.0.${randomInt(256)}.${randomInt(1, 255)}`,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        const answer = { status: response.statusCode, body: (await response.body.json()) as Record<string, unknown> }
        history.count(`answers with ${answer.status}`)
        if (!expectedStatuses.has(answer.status)) history.violation(`${method} ${path} answered ${answer.status}`)
        return answer
      } catch {
        history.count('calls without an answer')
        await pause(100)
        return null
      }
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  }
}

export function pick<T>(choices: readonly T[]): T {
  return choices[randomInt(choices.length)]!
}
