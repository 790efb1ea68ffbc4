import type { Fetch } from '../src/platform.ts'

export type Sent = {
  method: string
  url: string
  body: unknown
  /** The body as JSON; empty when it is none. */
  json: Record<string, unknown>
  token: string | null
  aborted: boolean
}
export type Reply = { status?: number; body?: unknown; headers?: Record<string, string> }
/** A reply, a function that makes one, `hang` (no reply until aborted) or `down` (cannot be reached). */
export type Answer = Reply | 'hang' | 'down' | ((sent: Sent) => Reply | 'hang' | 'down' | Promise<Reply>)

export type FakeNetwork = {
  fetch: Fetch
  /** All requests so far, oldest first. */
  sent: Sent[]
  /** Sets the answer to `METHOD https://host/path` (without the query) from now on. */
  answer(call: string, answer: Answer): void
  /** The requests of one call. */
  sentTo(call: string): Sent[]
}

/** Instances that give the answers set by the test, and 404 otherwise. */
export function createFakeNetwork(): FakeNetwork {
  const answers = new Map<string, Answer>()
  const sent: Sent[] = []
  const callOf = ({ method, url }: Pick<Sent, 'method' | 'url'>) => `${method} ${url.split('?')[0]}`

  const fetch: Fetch = async (url, init) => {
    const headers = init.headers as Record<string, string>
    const request: Sent = {
      method: init.method ?? 'GET',
      url,
      body: init.body ?? null,
      json: typeof init.body === 'string' ? JSON.parse(init.body) : {},
      token: headers['authorization']?.replace('Bearer ', '') ?? null,
      aborted: false,
    }
    sent.push(request)
    const answer = answers.get(callOf(request)) ?? { status: 404, body: { error: 'Not found', statusCode: 404 } }
    const reply = await (typeof answer === 'function' ? answer(request) : answer)
    if (reply === 'down') throw new TypeError('fetch failed')
    if (reply === 'hang') await untilAborted(init.signal, () => (request.aborted = true))
    const { status = 200, body = {}, headers: replyHeaders = {} } = reply as Reply
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers: replyHeaders })
  }
  return {
    fetch,
    sent,
    answer: (call, answer) => void answers.set(call, answer),
    sentTo: (call) => sent.filter((request) => callOf(request) === call),
  }
}

function untilAborted(signal: AbortSignal | null | undefined, onAbort: () => void): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => {
      onAbort()
      reject(new DOMException('aborted', 'AbortError'))
    }
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
  })
}
