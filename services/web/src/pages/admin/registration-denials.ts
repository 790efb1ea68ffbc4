import type { Endpoints } from '@gatehouse/client'
import { useEffect, useState } from 'react'
import { useAppContext } from '../../hooks.ts'

export type Outcome = Endpoints['decideRegistrations']['reply']

/** What became of an act, over all its attempts. `begunAt`: of the first, once it was sent. `isUnknown`: an answer was lost. */
export type Done = Outcome & { begunAt?: number; isUnknown?: boolean }
export const nothingDone = (): Done => ({ decided: [], missed: [] })

/** `ids`: all that `of` is about, until it is known what it did. */
export type Denial = { of: Done; ids: string[]; until: number }

/** After this time the server deletes a denied registration. Contract: 3, Approval. */
const undoMs = 60_000

/** Those that can be taken back. The last one is `denied`. */
export function useDenials() {
  const { now } = useAppContext()
  const [denials, setDenials] = useState<readonly Denial[]>([])
  const denied = denials.at(-1)
  useEffect(() => {
    if (!denied) return
    const timer = setTimeout(() => setDenials((all) => all.filter((one) => one !== denied)), denied.until - now())
    return () => clearTimeout(timer)
  }, [denied])

  const change = (to: (one: Denial) => Denial) => setDenials((all) => all.map(to).filter(({ ids }) => ids.length > 0))
  /** In its former place, where it has one. */
  const put = (denial: Denial) =>
    setDenials((all) => {
      const isKnown = all.some(({ of }) => of === denial.of)
      return isKnown ? all.map((one) => (one.of === denial.of ? denial : one)) : [...all, denial]
    })
  const remember = (of: Done, ids: string[]) => put({ of, ids, until: (of.begunAt ?? now()) + undoMs })
  const forget = (ids: readonly string[]) =>
    change((one) => ({ ...one, ids: one.ids.filter((id) => !ids.includes(id)) }))
  /** Once its attempt is over. What was taken back meanwhile stays so. */
  function settle(done: Done): void {
    const until = (done.begunAt ?? now()) + undoMs
    const isDenied = (id: string) => done.isUnknown === true || done.decided.includes(id)
    change((one) => (one.of === done ? { ...one, until, ids: one.ids.filter(isDenied) } : one))
  }
  /** What could not be taken back still can. */
  function giveBack(before: readonly Denial[], ids: readonly string[], { decided, missed }: Done): void {
    const isOver = (id: string) =>
      decided.includes(id) || missed.some((one) => one.id === id && one.code !== 'unavailable')
    const open = new Set(ids.filter((id) => !isOver(id)))
    const ofOpen = before.map((one) => ({ ...one, ids: one.ids.filter((id) => open.has(id)) }))
    for (const denial of ofOpen) if (denial.ids.length > 0) put(denial)
  }
  return { denials, denied, remember, forget, settle, giveBack }
}
