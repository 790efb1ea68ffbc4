import { ApiError, type Client, type Endpoints } from '@gatehouse/client'
import { useEffect, useRef, useState } from 'react'
import { formatNumber } from '../../components/format.ts'
import { useAppContext, useMutation, useToast, type Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'

type Reply = Endpoints['listRegistrations']['reply']
export type Registration = Reply['registrations'][number]
export type Decision = Endpoints['decideRegistrations']['input']['body']
export type Outcome = Endpoints['decideRegistrations']['reply']

/** More are told by the count alone: these come first. */
const readMax = 300
/** Fewer than the server takes: it decides on each alone. */
const decidedAtOnce = 25
/** After this time the server deletes a denied registration. Contract: 3, Approval. */
const undoMs = 60_000

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

/** `of`: the decision, while it is not done yet. */
type Denial = { ids: string[]; until: number; of?: Decision }

/** `denied`: the last denial, while it can be taken back. `missed`: what nothing became of. */
export function useDecisions(onDecided: () => void) {
  const { now } = useAppContext()
  const mutation = useMutation()
  const showToast = useToast()
  const [denials, setDenials] = useState<readonly Denial[]>([])
  const [missed, setMissed] = useState<Outcome['missed']>([])
  const last = useRef<Promise<unknown>>(Promise.resolve())
  const denied = denials.at(-1)
  useEffect(() => {
    if (!denied) return
    const timer = setTimeout(() => setDenials((all) => all.filter((one) => one !== denied)), denied.until - now())
    return () => clearTimeout(timer)
  }, [denied])

  const forget = (ids: readonly string[]) =>
    setDenials((all) =>
      all
        .map((one) => ({ ...one, ids: one.ids.filter((id) => !ids.includes(id)) }))
        .filter((one) => one.ids.length > 0),
    )
  const remember = (ids: string[], { since = now(), of }: { since?: number; of?: Decision } = {}) =>
    setDenials((all) => [...all, { ids, until: since + undoMs, ...(of && { of }) }])
  const work =
    (body: Decision): Work<Outcome> =>
    async (signal, client) => {
      const outcome: Outcome = { decided: [], missed: [] }
      const { decided, missed: left } = outcome
      // The minute of the first begins here.
      const begunAt = now()
      try {
        await decide(client, body, signal, outcome)
      } finally {
        setMissed(left)
        // An earlier denial of theirs can still be taken back.
        if (body.decision !== 'deny') forget(body.ids)
        if (body.decision === 'deny' && decided.length > 0) remember(decided, { since: begunAt })
        onDecided()
      }
      if (body.decision === 'approve' && decided.length > 0) {
        showToast(t('Approved: {count}', { count: formatNumber(decided.length) }))
      }
      return outcome
    }
  /** One after the other: keys are faster than answers. What is asked for can be taken back at once. */
  const run = (body: Decision): void => {
    if (body.decision === 'deny') remember(body.ids, { of: body })
    else forget(body.ids)
    last.current = last.current.then(async () => {
      await mutation.run(work(body))
      setDenials((all) => all.filter(({ of }) => of !== body))
    })
  }
  const restore = (ids: string[]) => run({ ids, decision: 'restore' })
  return { mutation, denied, missed, forgetMissed: () => setMissed([]), work, run, restore }
}

export type Decisions = ReturnType<typeof useDecisions>
