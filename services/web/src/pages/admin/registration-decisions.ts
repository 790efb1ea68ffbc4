import { ApiError, NetworkFailure, type Client, type Endpoints } from '@gatehouse/client'
import { useRef, useState } from 'react'
import { formatNumber } from '../../components/format.ts'
import { useAppContext, useMutation, useToast, type Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { nothingDone, useDenials, type Done, type Outcome } from './registration-denials.ts'

type Reply = Endpoints['listRegistrations']['reply']
export type Registration = Reply['registrations'][number]
export type Decision = Endpoints['decideRegistrations']['input']['body']

/** More are told by the count alone: these come first. */
const readMax = 300
/** Fewer than the server takes: it decides on each alone. */
const decidedAtOnce = 25

/** All that wait, so that they can be sorted here, up to `readMax`. */
export async function fetchRegistrations(client: Client, q: string | undefined, signal: AbortSignal) {
  const readPage = (cursor?: string) => client.call('listRegistrations', { query: { q, cursor }, signal })
  const first = await readPage()
  let { registrations, nextCursor } = first
  while (nextCursor && registrations.length < readMax) {
    const page = await readPage(nextCursor)
    registrations = [...registrations, ...page.registrations]
    nextCursor = page.nextCursor
  }
  return { registrations, total: first.total, isWhole: nextCursor === null }
}

/** So many parts without an answer in a row tell that the instance has none for the others. */
const mostUnanswered = 2

/**
 * In parts, so that no answer takes long. What a busy instance leaves comes again, as long as it decides some. `outcome` has what
 * was done before a part failed.
 */
async function decide(client: Client, { ids, ...decision }: Decision, signal: AbortSignal, outcome: Outcome) {
  const left: Outcome['missed'] = []
  let failure: ApiError | undefined
  let unanswered = 0
  for (let start = 0; start < ids.length; start += decidedAtOnce) {
    const body = { ...decision, ids: ids.slice(start, start + decidedAtOnce) }
    if (unanswered >= mostUnanswered) {
      left.push(...body.ids.map(asLeft))
      continue
    }
    try {
      const { decided, missed } = await client.call('decideRegistrations', { body, signal })
      unanswered = 0
      outcome.decided.push(...decided)
      outcome.missed.push(...missed.filter(({ code }) => code !== 'unavailable'))
      left.push(...missed.filter(({ code }) => code === 'unavailable'))
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 503) throw error
      failure = error
      unanswered += 1
      left.push(...body.ids.map(asLeft))
    }
  }
  if (left.length === 0) return
  if (left.length < ids.length) {
    await decide(client, { ...decision, ids: left.map(({ id }) => id) }, signal, outcome)
    return
  }
  if (failure) throw failure
  outcome.missed.push(...left)
}

const asLeft = (id: string) => ({ id, code: 'unavailable' })

/** `denied`: the last denial, while it can be taken back. `missed`: what nothing became of. */
export function useDecisions(onDecided: () => void) {
  const { now } = useAppContext()
  const mutation = useMutation()
  const showToast = useToast()
  const { denials, denied: lastDenied, remember, forget, settle, giveBack } = useDenials()
  const [missed, setMissed] = useState<Outcome['missed']>([])
  const last = useRef<Promise<unknown>>(Promise.resolve())

  const attempt =
    (body: Decision, done: Done): Work<Outcome> =>
    async (signal, client) => {
      const { decided } = done
      done.begunAt ??= now()
      Object.assign(done, { missed: [], isUnknown: false })
      const ids = body.ids.filter((id) => !decided.includes(id))
      try {
        await decide(client, { ...body, ids }, signal, done)
      } catch (error) {
        done.isUnknown = error instanceof NetworkFailure
        throw error
      } finally {
        setMissed(done.missed)
        settle(done)
        onDecided()
      }
      if (body.decision === 'approve' && decided.length > 0) {
        showToast(t('Approved: {count}', { count: formatNumber(decided.length) }))
      }
      return done
    }
  /** Of a dialog, which stays open until all is decided: `done` has its earlier attempts. */
  const work =
    (body: Decision, done: Done): Work<Outcome> =>
    async (signal, client) => {
      try {
        return await attempt(body, done)(signal, client)
      } finally {
        const denied = body.decision !== 'deny' ? [] : done.isUnknown === true ? body.ids : done.decided
        if (denied.length > 0) remember(done, denied)
      }
    }
  /** One after the other: keys are faster than answers. What is asked for can be taken back at once. */
  const run = (body: Decision): void => {
    const done = nothingDone()
    if (body.decision === 'deny') remember(done, body.ids)
    else forget(body.ids)
    last.current = last.current.then(async () => {
      await mutation.run(attempt(body, done))
      if (body.decision !== 'deny') giveBack(denials, body.ids, done)
      else if (done.begunAt === undefined) forget(body.ids)
    })
  }
  const restore = (ids: string[]) => run({ ids, decision: 'restore' })
  return { mutation, denied: lastDenied, missed, forgetMissed: () => setMissed([]), work, run, restore }
}

export type DecisionWork = (body: Decision) => Work<Outcome>
export type Decisions = ReturnType<typeof useDecisions>
