import { BusUnavailable, type Bus, type PlainSubjects } from '@gatehouse/bus'
import { upstreamLimits } from '@gatehouse/contracts'
import { type Timer, createQuota } from '@gatehouse/runtime'
import { costsAtMost, OccasionalLog, type Log, type Metrics } from '@gatehouse/service-kit'
import type { z } from 'zod'
import { upstreamSubjects } from './contract.ts'
import { upstreamQuestions, type UpstreamQuestionName } from './questions.ts'

type Question<A> = { subject: string; json: string; timeoutMs: number; bytes: number; reply: A }

/** Throws BusUnavailable, and TypeError, SyntaxError or ZodError for a reply that cannot be used. Design: invariant 10. */
export async function askUpstream<A extends z.ZodType>(
  plain: Pick<PlainSubjects, 'request'>,
  { subject, json, timeoutMs, bytes, reply }: Question<A>,
): Promise<z.output<A>> {
  const given = await plain.request(subject, json, { timeoutMs })
  if (given.length > bytes) throw new TypeError('the reply is too large')
  return reply.parse(readJson(given))
}

type Answer<N extends UpstreamQuestionName> = z.output<(typeof upstreamQuestions)[N]['reply']>

const inFlightMost = 32

/** What upstreams declare in `answers`. docs/integrate/ask-and-answer.md. */
export class UpstreamQuestions {
  readonly #plain: PlainSubjects | undefined
  readonly #counter: ReturnType<Metrics['counter']>
  readonly #log: OccasionalLog
  readonly #inFlight = createQuota(inFlightMost)

  constructor({ bus, metrics, ...logging }: { bus: Bus; metrics: Metrics; log: Log; timer: Timer }) {
    this.#plain = bus.plain
    const labels = ['upstream', 'question', 'outcome']
    this.#counter = metrics.counter('gatehouse_upstream_questions_total', 'Questions to upstreams', labels)
    this.#log = new OccasionalLog(logging)
  }

  /** Undefined where there is no usable answer. Never rejects. */
  async ask<N extends UpstreamQuestionName>(
    upstream: string,
    question: N,
    asked: object,
    { timeoutMs }: { timeoutMs: number } = upstreamQuestions[question],
  ): Promise<Answer<N> | undefined> {
    const key = `${question} ${upstream}`
    const count = (outcome: string) => this.#counter.inc({ upstream, question, outcome })
    if (!this.#inFlight.take(key)) return void count('too_many')
    try {
      if (!this.#plain) throw new BusUnavailable('disconnected')
      const { bytes, reply } = upstreamQuestions[question]
      const subject = upstreamSubjects(upstream, this.#plain.prefix).question(question)
      const answer = await askUpstream(this.#plain, { subject, json: JSON.stringify(asked), timeoutMs, bytes, reply })
      count('answered')
      return answer as Answer<N>
    } catch (err) {
      if (!(err instanceof BusUnavailable)) count('wrong')
      else count(err.reason === 'timeout' ? 'late' : 'absent')
      this.#log.warn(key, { err, upstream, question }, 'an upstream does not answer a question')
      return undefined
    } finally {
      this.#inFlight.release(key)
    }
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Throws SyntaxError, or TypeError where it is not UTF-8 or too deep. */
export function readJson(bytes: Uint8Array): unknown {
  if (isTooDeep(bytes)) throw new TypeError('the JSON is nested too deeply')
  return JSON.parse(decoder.decode(bytes)) as unknown
}

/** `JSON.stringify` throws beyond some thousand levels, `JSON.parse` does not. */
export function isTooDeep(bytes: Uint8Array): boolean {
  return !costsAtMost(bytes, { depth: upstreamLimits.nesting, values: Infinity })
}
