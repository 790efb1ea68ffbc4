import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { History } from '../faults/history.ts'
import type { Answer, InstanceClient } from '../faults/instance-client.ts'
import type { Balancer } from './balancer.ts'

const responseTimeoutMs = 45_000
const repeatAfterMs = 200
const maxAttempts = 100
const expectedStatuses = new Set([200, 201, 400, 401, 403, 404, 409])

type Call = { method: string; path: string; body: unknown; token: string | undefined }
type Attempt = Answer & { mayBeRepeated: boolean }

/** An address of its own for each call and socket, so that limits by address do not apply. */
export const anyAddress = (): string => `203.0.${randomInt(256)}.${randomInt(1, 255)}`

/**
 * Calls the instance as a client behind a proxy does: kept-alive connections, another gateway where a connection is refused,
 * a repetition after 503 with Retry-After. Every other failure is a violation: a lost request. Contract: 8, drain.
 */
export function createStrictClient(balancer: Balancer, history: History): InstanceClient & AsyncDisposable {
  const dispatcher = new Agent({ connections: 32, headersTimeout: responseTimeoutMs, bodyTimeout: responseTimeoutMs })
  return {
    get gateways() {
      return balancer.inService()
    },
    async call(method, path, { body, token, gateway } = {}) {
      const call: Call = { method, path, body, token }
      let chosen = gateway ?? balancer.pick()
      for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
        const answer = await send(call, chosen, dispatcher, history)
        if (answer === 'unanswered') return null
        if (answer !== 'refused' && !answer.mayBeRepeated) return answer
        await pause(repeatAfterMs)
        chosen = balancer.pick()
      }
      history.violation(`${method} ${path} had no success in ${maxAttempts} attempts`)
      return null
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  }
}

async function send(call: Call, gateway: string, dispatcher: Agent, history: History) {
  const { method, path, body, token } = call
  try {
    const response = await request(`${gateway}${path}`, {
      method: method as 'GET',
      dispatcher,
      headers: {
        'x-forwarded-for': anyAddress(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answered = (await response.body.json()) as Record<string, unknown>
    return judge(call, { status: response.statusCode, body: answered }, 'retry-after' in response.headers, history)
  } catch (err) {
    const code = (err as { code?: string }).code ?? String(err)
    if (code === 'ECONNREFUSED') {
      history.count('connections refused, another gateway asked')
      return 'refused'
    }
    history.violation(`${method} ${path} was not answered: ${code}`)
    return 'unanswered'
  }
}

function judge(call: Call, answer: Answer, hasRetryAfter: boolean, history: History): Attempt {
  const mayBeRepeated = answer.status === 503 && hasRetryAfter
  history.count(mayBeRepeated ? 'refused with 503 and Retry-After, repeated' : 'requests answered')
  if (!mayBeRepeated && !expectedStatuses.has(answer.status)) {
    history.violation(`${call.method} ${call.path} was answered with ${answer.status}: ${String(answer.body.error)}`)
  }
  return { ...answer, mayBeRepeated }
}
