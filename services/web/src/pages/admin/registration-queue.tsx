import { type KeyboardEvent, useEffect, useState } from 'react'
import { useAppContext } from '../../hooks.ts'
import { type Decisions, type DecisionWork, type Registration, useDecisions } from './registration-decisions.ts'
import { type Done, nothingDone } from './registration-denials.ts'
import { ApproveDialog, BlockDialog } from './registration-dialogs.tsx'
import { RegistrationRows } from './registration-rows.tsx'
import { groupRows, type Order } from './registration-selection.ts'
import { RegistrationToolbar } from './registration-toolbar.tsx'
import { type Act, useSelection } from './use-registration-selection.ts'

type Props = { rows: readonly Registration[]; order: Order; onDecided: () => void }

/** By keyboard: the keys of a list, Shift for a range, a approves, d denies, b blocks too, z takes a denial back. */
export function RegistrationQueue({ rows, order, onDecided }: Props) {
  const decisions = useDecisions(onDecided)
  const groups = groupRows(rows, order)
  const waiting = groups.flatMap((group) => group.rows).filter(({ deniedAt }) => deniedAt === null)
  const queue = useSelection(waiting.map(({ id }) => id))
  const [asking, setAsking] = useState<{ Dialog: typeof BlockDialog; rows: Registration[]; done: Done } | null>(null)
  useEndOfDenials(rows, onDecided)

  const decide = (ids: readonly string[], act: Act) => {
    if (ids.length === 0) return
    const about = waiting.filter(({ id }) => ids.includes(id))
    const asked = { rows: about, done: nothingDone() }
    if (act === 'block') return setAsking({ Dialog: BlockDialog, ...asked })
    if (act === 'approve' && ids.length > 1) return setAsking({ Dialog: ApproveDialog, ...asked })
    queue.leave(new Set(ids))
    decisions.run({ ids: [...ids], decision: act })
  }
  // As for a key: what is taken back is not selected again.
  const leaving =
    (done: Done): DecisionWork =>
    (body) =>
    async (signal, client) => {
      const outcome = await decisions.work(body, done)(signal, client)
      queue.leave(new Set(body.ids))
      return outcome
    }
  const closeDialog = () => {
    queue.onDialogClose()
    setAsking(null)
  }
  const undo = () => decisions.denied && decisions.restore(decisions.denied.ids)
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.altKey || (event.repeat && !event.key.startsWith('Arrow'))) return
    const isHandled =
      event.ctrlKey || event.metaKey
        ? event.key.toLowerCase() === 'a' && queue.selectAll()
        : queue.move(event.key, event.shiftKey) || act(event.key.toLowerCase())
    if (isHandled) event.preventDefault()
  }
  const act = (key: string): boolean => {
    const decision = acts[key]
    if (key === 'escape') queue.clear()
    else if (key === 'z') undo()
    else if (decision) decide(queue.chosen, decision)
    else return false
    return true
  }
  return (
    <div className="stack" tabIndex={-1} onKeyDown={onKeyDown} {...queue.list}>
      <RegistrationToolbar
        rows={rows}
        queue={queue}
        decisions={decisions}
        undo={undo}
        onAct={(decision) => decide(queue.selected, decision)}
      />
      <RegistrationRows groups={groups} queue={queue} decide={decideOne(decisions, decide)} />
      {asking && <asking.Dialog rows={asking.rows} work={leaving(asking.done)} onClose={closeDialog} />}
    </div>
  )
}

const acts: Readonly<Record<string, Act>> = { a: 'approve', d: 'deny', b: 'block' }

const decideOne =
  (decisions: Decisions, decide: (ids: readonly string[], act: Act) => void) =>
  (id: string, decision: 'approve' | 'deny' | 'restore') =>
    decision === 'restore' ? decisions.restore([id]) : decide([id], decision)

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
