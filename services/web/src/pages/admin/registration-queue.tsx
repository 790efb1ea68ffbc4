import { type FocusEvent, type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useAppContext } from '../../hooks.ts'
import { type Decisions, type Registration, useDecisions } from './registration-decisions.ts'
import { ApproveDialog, BlockDialog } from './registration-dialogs.tsx'
import { RegistrationRows, rowFieldOf } from './registration-rows.tsx'
import * as selections from './registration-selection.ts'
import { RegistrationToolbar } from './registration-toolbar.tsx'

type Props = { rows: readonly Registration[]; order: selections.Order; onDecided: () => void }

/** By keyboard: the keys of a list, Shift for a range, a approves, d denies, b blocks too, z takes a denial back. */
export function RegistrationQueue({ rows, order, onDecided }: Props) {
  const decisions = useDecisions(onDecided)
  const groups = selections.groupRows(rows, order)
  const waiting = groups.flatMap((group) => group.rows).filter(({ deniedAt }) => deniedAt === null)
  const queue = useSelection(waiting.map(({ id }) => id))
  const [asking, setAsking] = useState<{ Dialog: typeof BlockDialog; rows: Registration[] } | null>(null)
  useEndOfDenials(rows, onDecided)

  const decide = (ids: readonly string[], act: Act) => {
    if (ids.length === 0) return
    const about = waiting.filter(({ id }) => ids.includes(id))
    if (act === 'block') return setAsking({ Dialog: BlockDialog, rows: about })
    if (act === 'approve' && ids.length > 1) return setAsking({ Dialog: ApproveDialog, rows: about })
    queue.leave(new Set(ids))
    decisions.run({ ids: [...ids], decision: act })
  }
  const undo = () => decisions.denied && decisions.restore(decisions.denied.ids)
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.altKey || (event.repeat === true && !event.key.startsWith('Arrow'))) return
    const isHandled =
      event.ctrlKey || event.metaKey
        ? event.key.toLowerCase() === 'a' && queue.selectAll()
        : queue.move(event.key, event.shiftKey) || act(event.key.toLowerCase())
    if (isHandled) event.preventDefault()
  }
  const act = (key: string): boolean => {
    const named = acts[key]
    if (key === 'escape') queue.clear()
    else if (key === 'z') undo()
    else if (named) decide(queue.chosen, named)
    else return false
    return true
  }
  return (
    <div
      className="stack"
      ref={queue.ref}
      tabIndex={-1}
      onKeyDown={onKeyDown}
      onFocus={queue.onFocus}
      onBlur={queue.onBlur}
    >
      <RegistrationToolbar {...{ rows, queue, decisions, undo }} onAct={(named) => decide(queue.selected, named)} />
      <RegistrationRows {...{ groups, queue }} decide={decideOne(decisions, decide)} />
      {asking && <asking.Dialog rows={asking.rows} work={decisions.work} onClose={() => setAsking(null)} />}
    </div>
  )
}

export type Act = 'approve' | 'deny' | 'block'
const acts: Readonly<Record<string, Act>> = { a: 'approve', d: 'deny', b: 'block' }

const decideOne =
  (decisions: Decisions, decide: (ids: readonly string[], act: Act) => void) =>
  (id: string, decision: 'approve' | 'deny' | 'restore') =>
    decision === 'restore' ? decisions.restore([id]) : decide([id], decision)

export type Queue = ReturnType<typeof useSelection>

/** Which rows are selected, and which has the focus: another admin may take it away. */
function useSelection(ids: readonly string[]) {
  const [selection, setSelection] = useState(selections.emptySelection)
  const ref = useRef<HTMLDivElement>(null)
  const hasFocus = useRef(false)
  const lastIndex = useRef(0)
  const isThere = selection.current !== null && ids.includes(selection.current)
  const current = isThere ? selection.current : (ids[Math.min(lastIndex.current, ids.length - 1)] ?? null)
  const selected = ids.filter((id) => selection.ids.has(id))

  const focusRow = (id: string | null) => {
    // Without a row that waits, the keys that are left still work.
    const row = id === null ? null : ref.current?.querySelector<HTMLElement>(`#${rowFieldOf(id)}`)
    ;(row ?? ref.current)?.focus()
  }
  useLayoutEffect(() => {
    lastIndex.current = Math.max(0, current === null ? 0 : ids.indexOf(current))
    if (hasFocus.current && document.activeElement === document.body) focusRow(current)
  })
  const goTo = (to: string, isRange = false) => {
    setSelection((before) => selections.moveTo(ids, { ...before, current }, to, isRange))
    focusRow(to)
  }
  return {
    ref,
    current,
    selected,
    /** What a key is about. */
    chosen: selected.length > 0 ? selected : current === null ? [] : [current],
    move: (key: string, isRange: boolean): boolean => {
      const to = hasFocus.current ? selections.findTarget(ids, current, key) : null
      if (to !== null) goTo(to, isRange)
      return to !== null
    },
    leave: (gone: ReadonlySet<string>) => {
      const next = current !== null && gone.has(current) ? selections.findNext(ids, current, gone) : current
      setSelection((before) => ({
        ids: new Set([...before.ids].filter((id) => !gone.has(id))),
        current: next,
        anchor: next,
      }))
      if (hasFocus.current) focusRow(next)
    },
    select: (id: string, isRange: boolean) =>
      setSelection((before) => (isRange ? selections.moveTo(ids, before, id, true) : selections.toggle(before, id))),
    selectAll: () => {
      setSelection((before) => selections.toggleAll(before, ids))
      return true
    },
    toggleAll: (wanted: readonly string[]) => setSelection((before) => selections.toggleAll(before, wanted)),
    /** The focus came without a key of the list. */
    reach: (id: string) =>
      setSelection((before) => (before.current === id ? before : { ...before, current: id, anchor: id })),
    clear: () => setSelection((before) => ({ ...before, ids: new Set<string>() })),
    onFocus: () => (hasFocus.current = true),
    onBlur: ({ target, currentTarget }: FocusEvent<HTMLElement>) => {
      // An element that is removed may lose the focus in this event.
      setTimeout(() => {
        if (target.isConnected && !currentTarget?.contains(document.activeElement)) hasFocus.current = false
      })
    },
  }
}

/** Denied rows go a minute later, and no event tells. */
function useEndOfDenials(rows: readonly Registration[], refetch: () => void): void {
  const { now } = useAppContext()
  const first = Math.min(...rows.map(({ deniedAt }) => deniedAt ?? Infinity))
  useEffect(() => {
    if (first === Infinity) return
    // The clock of the server may be another.
    const timer = setTimeout(refetch, Math.min(Math.max(first + endsAfterMs - now(), 1_000), endsAfterMs))
    return () => clearTimeout(timer)
  }, [first, rows])
}

const endsAfterMs = 61_000
