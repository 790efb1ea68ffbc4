import { callerHeader } from '@gatehouse/auth'
import type { ServiceName } from '@gatehouse/contracts'
import type { Clock } from '@gatehouse/runtime'
import { eventually } from './eventually.ts'
import { signTestCaller } from './test-callers.ts'

/** Whom the gateway would name as the caller; `isAdmin` is false and the token one of this second unless told. */
export type TestCaller = { id: string; username: string; isAdmin?: boolean; tokenIssuedAt?: number }

export type TestResponse<Body = Record<string, unknown>> = {
  status: number
  headers: Headers
  /** The parsed JSON, or an empty object. */
  body: Body
  text: string
}

export type TestRequest = {
  /** An account, or the operator's command line. */
  as?: TestCaller | 'operator' | undefined
  /** Of the upstream `chat`, which asks. */
  rights?: readonly string[]
  /** Sent as JSON; a FormData or a string goes as it is. */
  body?: unknown
  headers?: Record<string, string>
  /** Of the client. */
  address?: string
}

export type ServiceClient = <Body = Record<string, unknown>>(
  method: string,
  path: string,
  request?: TestRequest,
) => Promise<TestResponse<Body>>

/** Calls the routes of one service that holds `testCallerKeys` as the gateway would, with a signed caller. */
export function createServiceClient(service: { name: ServiceName; url: string; clock: Clock }): ServiceClient {
  return async <Body>(
    method: string,
    path: string,
    { as, rights, body, headers = {}, address = '127.0.0.1' }: TestRequest = {},
  ) => {
    const now = service.clock.now()
    const account =
      as && as !== 'operator'
        ? {
            userId: as.id,
            username: as.username,
            isAdmin: as.isAdmin ?? false,
            tokenIssuedAt: as.tokenIssuedAt ?? Math.floor(now / 1000),
          }
        : null
    const operator = as === 'operator' ? ({ operator: true } as const) : {}
    const upstream = rights && { upstream: { name: 'chat', rights } }
    const caller = signTestCaller(service.name, { address, account, ...operator, ...upstream }, now)
    const isRaw = typeof body === 'string' || body instanceof FormData
    const isJson = body !== undefined && !(body instanceof FormData)
    const response = await fetch(service.url + path, {
      method,
      headers: { [callerHeader]: caller, ...(isJson && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const hasJson = response.headers.get('content-type')?.includes('json') ?? false
    return { status: response.status, headers: response.headers, body: (hasJson ? JSON.parse(text) : {}) as Body, text }
  }
}

/** A response whose status the test does not look at further; throws, so that the test fails here, when it is not one of `statuses`. */
export async function answered<R extends { status: number; body?: unknown }>(
  request: Promise<R | null>,
  ...statuses: readonly number[]
): Promise<R> {
  const response = await request
  if (!response) throw new Error('the request of a test was not answered')
  const { status } = response
  if (statuses.length > 0 ? statuses.includes(status) : status >= 200 && status < 300) return response
  const body = response instanceof Response ? await response.text() : JSON.stringify(response.body)
  throw new Error(`the request of a test was answered with ${status}: ${body}`)
}

/** Just below the limit of a test. */
const availableWithinMs = 50_000

/**
 * Asks again while it is answered 503, as a client does. On a busy machine those at the end of the line for a lock are sent
 * away (docs/decisions/bounded-waits.md): a race of many counts what they are told afterwards.
 */
export async function untilAvailable<A extends { status: number }>(ask: () => Promise<A>): Promise<A> {
  const askOnce = async () => {
    const answer = await ask()
    return answer.status === 503 ? null : answer
  }
  return await eventually('an answer other than 503', askOnce, availableWithinMs)
}
