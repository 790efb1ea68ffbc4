import type { Fetch } from '../src/ports.ts'

export type Sent = {
  method: string
  url: string
  json: Record<string, unknown>
  token: string | null
  aborted: boolean
}
export type Reply = { status?: number; body?: unknown; headers?: Record<string, string> }
/** An answer, a way to make one, or `hang` (no answer until aborted) or `down` (cannot be reached). */
export type Answer = Reply | 'hang' | 'down' | ((sent: Sent) => Reply | 'hang' | 'down' | Promise<Reply>)

export type FakeNetwork = {
  fetch: Fetch
  /** All requests so far, oldest first. */
  sent: Sent[]
  /** Sets the answer for `METHOD https://host/path` (without the query) from now on. */
  answer(call: string, answer: Answer): void
  /** The requests of one call. */
  sentTo(call: string): Sent[]
}

/** A network of instances that answer as they are told, and 404 otherwise. */
export function createFakeNetwork(): FakeNetwork {
  const answers = new Map<string, Answer>()
  const sent: Sent[] = []
  const callOf = ({ method, url }: Pick<Sent, 'method' | 'url'>) => `${method} ${url.split('?')[0]}`

  const fetch: Fetch = async (url, init) => {
    const headers = init.headers as Record<string, string>
    const one: Sent = {
      method: init.method ?? 'GET',
      url,
      json: typeof init.body === 'string' ? JSON.parse(init.body) : {},
      token: headers['authorization']?.replace('Bearer ', '') ?? null,
      aborted: false,
    }
    sent.push(one)
    const stated = answers.get(callOf(one)) ?? { status: 404, body: { error: 'Not found', statusCode: 404 } }
    const reply = await (typeof stated === 'function' ? stated(one) : stated)
    if (reply === 'down') throw new TypeError('fetch failed')
    if (reply === 'hang') await untilAborted(init.signal, () => (one.aborted = true))
    const { status = 200, body = {}, headers: replyHeaders = {} } = reply as Reply
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers: replyHeaders })
  }
  return {
    fetch,
    sent,
    answer: (call, answer) => void answers.set(call, answer),
    sentTo: (call) => sent.filter((one) => callOf(one) === call),
  }
}

function untilAborted(signal: AbortSignal | null | undefined, note: () => void): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => {
      note()
      reject(new DOMException('aborted', 'AbortError'))
    }
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
  })
}
