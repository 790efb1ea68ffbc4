import type { Instance } from './instance.ts'
import type { Reply } from './replies.ts'

/** What goes wrong with the next requests to one path; `times` is 1 where it is left out. */
export type Fault = {
  path: string
  times?: number
  /** Awaited before the request is looked at, and before its answer is sent. */
  before?: () => Promise<void>
  after?: () => Promise<void>
  delayMs?: number
  /** Answered instead; the request is not looked at. A text is sent as it is. */
  answer?: { status: number; body?: unknown; headers?: Record<string, string> }
  /** The request takes effect and its connection is cut. */
  dropAnswer?: boolean
}

export function takeFault(instance: Instance, path: string): Fault | undefined {
  const index = instance.faults.findIndex((fault) => fault.path === path)
  const fault = instance.faults[index]
  if (!fault) return undefined
  fault.times = (fault.times ?? 1) - 1
  if (fault.times <= 0) instance.faults.splice(index, 1)
  return fault
}

export function answerOfFault({ status, body, headers }: NonNullable<Fault['answer']>): Reply {
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
  return { status, text, headers: { 'content-type': 'application/json; charset=utf-8', ...headers } }
}
