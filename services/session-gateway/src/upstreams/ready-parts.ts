import { BusUnavailable, type PlainSubjects } from '@gatehouse/bus'
import { emptyReadyParts, upstreamLimits } from '@gatehouse/contracts'
import { delay } from '@gatehouse/runtime'
import type { OccasionalLog } from '@gatehouse/service-kit'
import { askUpstream, upstreamReadyReply } from '@gatehouse/upstreams'
import { sendText } from '../connection/send-text.ts'
import { encodeMessage } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import { findCurrentCaller, type CallerDeps, type AuthenticatedSocket } from '../sessions/session-registry.ts'
import type { LiveUpstream, UpstreamSet } from './upstream-set.ts'

type ReadyDeps = CallerDeps &
  Pick<OperationContext, 'timer' | 'timings' | 'sessionMetrics'> & {
    upstreams: Pick<UpstreamSet, 'withReadyParts'>
    occasionalLog: Pick<OccasionalLog, 'warn'>
    plain: Pick<PlainSubjects, 'request'>
  }

type Fields = Record<string, unknown>

/** `unavailable`: asking again may help. `failed`: no usable reply. */
type Reply = Fields | 'unavailable' | 'failed'
type Question = { upstream: LiveUpstream; askedAt: number; reply: Promise<Reply>; fields: Fields | undefined }

/** `incomplete`: the upstreams whose part is missing. */
export type CollectedParts = { fields: Fields; incomplete: readonly string[]; late: readonly Question[] }

export type ReadyParts = ReturnType<typeof createReadyParts>

/** Asks upstreams for their parts of `ready`. A late part follows as `ready_part`. Contract: 6, ready. */
export function createReadyParts(deps: ReadyDeps) {
  const { occasionalLog, plain, sessionMetrics, timer, timings, upstreams } = deps
  const count = (upstream: string, outcome: 'in_time' | 'late' | 'missing') =>
    sessionMetrics.upstreamReadyParts.inc({ upstream, outcome })

  function ask(upstream: LiveUpstream, socket: AuthenticatedSocket): Question {
    const reply = request(upstream, socket)
    const question: Question = { upstream, askedAt: timer.now(), reply, fields: undefined }
    void reply.then((part) => {
      if (typeof part !== 'string') question.fields = part
    })
    return question
  }

  /** Never rejects. */
  async function request(upstream: LiveUpstream, socket: AuthenticatedSocket): Promise<Reply> {
    const { name, subjects } = upstream
    if (upstream.questionsInFlight >= upstreamLimits.readyInFlight) return 'unavailable'
    upstream.questionsInFlight += 1
    try {
      const caller = await findCurrentCaller(deps, socket)
      if (!caller) return 'failed'
      const limits = { timeoutMs: timings.lateReadyPartMs, bytes: upstreamLimits.readyBytes }
      const question = { subject: subjects.ready, json: JSON.stringify(caller), reply: upstreamReadyReply }
      return readFields(upstream, await askUpstream(plain, { ...question, ...limits }))
    } catch (err) {
      occasionalLog.warn(`ready ${name}`, { err, upstream: name }, 'upstream does not give its part of ready')
      return err instanceof BusUnavailable && err.reason !== 'timeout' ? 'unavailable' : 'failed'
    } finally {
      upstream.questionsInFlight -= 1
    }
  }

  async function sendLatePart(socket: AuthenticatedSocket, { upstream, askedAt, reply }: Question): Promise<void> {
    let part = await reply
    const isWanted = () => socket.phase === 'ready' && !upstream.isRemoved
    while (part === 'unavailable' && isWanted() && timer.now() - askedAt < timings.lateReadyPartMs) {
      await delay(timer, timings.readyPartRetryMs)
      if (isWanted()) part = await ask(upstream, socket).reply
    }
    if (typeof part === 'string' || !isWanted()) return count(upstream.name, 'missing')
    sendText(deps, socket, encodeMessage({ type: 'ready_part', upstream: upstream.name, ...part }))
  }

  return {
    /** Resolves within the deadline; never rejects. */
    async collect(socket: AuthenticatedSocket): Promise<CollectedParts> {
      const questions = upstreams.withReadyParts.map((upstream) => ask(upstream, socket))
      const deadline = Promise.withResolvers<void>()
      const limit = timer.set(deadline.resolve, timings.readyPartsMs)
      await Promise.race([Promise.all(questions.map(({ reply }) => reply)), deadline.promise])
      timer.clear(limit)
      for (const { upstream, fields } of questions) count(upstream.name, fields ? 'in_time' : 'late')
      const late = questions.filter(({ fields }) => fields === undefined)
      const fields = Object.assign({}, ...questions.map((question) => question.fields)) as Fields
      return { fields, incomplete: late.map(({ upstream }) => upstream.name), late }
    },
    sendLate(socket: AuthenticatedSocket, { late }: CollectedParts): void {
      for (const question of late) void sendLatePart(socket, question)
    },
  }
}

/** Throws when a field is of the wrong kind. */
function readFields({ definition }: LiveUpstream, offered: Fields): Fields {
  const fields: Fields = {}
  for (const name of definition.ready) {
    if (!Object.hasOwn(offered, name)) continue
    if (!isSameKind(name, offered[name])) throw new TypeError(`the field ${name} of ready is of another kind`)
    fields[name] = offered[name]
  }
  if (Object.keys(fields).length === 0) throw new TypeError('the part of ready has none of its fields')
  return fields
}

function isSameKind(name: string, value: unknown): boolean {
  const empty: unknown = (emptyReadyParts as Fields)[name]
  if (empty === undefined || empty === null) return true
  return typeof value === typeof empty && value !== null && Array.isArray(value) === Array.isArray(empty)
}
