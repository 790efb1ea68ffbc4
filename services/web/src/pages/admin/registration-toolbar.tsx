import { Button } from '../../components/button.tsx'
import { MutationError } from '../../components/error-message.tsx'
import { formatNumber } from '../../components/format.ts'
import { Notice } from '../../components/status.tsx'
import { t, translateRefusal } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import type { Decisions, Registration } from './registration-decisions.ts'
import type { Act, Queue } from './use-registration-selection.ts'

type Props = {
  rows: readonly Registration[]
  queue: Queue
  decisions: Decisions
  undo: () => void
  onAct: (act: Act) => void
}

const key = (name: string) => <kbd>{name}</kbd>

/** It stays in view. */
export function RegistrationToolbar({ rows, queue, decisions, undo, onAct }: Props) {
  const { mutation, denied } = decisions
  const count = formatNumber(queue.selected.length)
  return (
    <div className="registrations__bar stack stack--tight">
      <div className="button-row">
        {queue.selected.length > 0 ? (
          <>
            <span role="status">{t('{count} selected', { count })}</span>
            <Button size="small" text="Approve" onClick={() => onAct('approve')} />
            <Button size="small" variant="danger" text="Deny" onClick={() => onAct('deny')} />
            <Button size="small" variant="danger" text="Deny and block" onClick={() => onAct('block')} />
            <Button size="small" variant="plain" text="Clear selection" onClick={queue.clear} />
          </>
        ) : (
          <>
            <Button size="small" variant="plain" text="Select all" onClick={queue.selectAll} />
            <p className="registrations__keys small muted">
              <Phrase
                text="{arrows} move, {space} selects, {shift} selects a range, {a} approves, {d} denies, {b} also blocks the network, {z} undoes a denial"
                values={{
                  arrows: key('↑ ↓'),
                  space: key(t('Space')),
                  shift: key(t('Shift')),
                  a: key('A'),
                  d: key('D'),
                  b: key('B'),
                  z: key('Z'),
                }}
              />
            </p>
          </>
        )}
      </div>
      {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
      <div role="status">
        {denied && (
          <div className="registrations__undo split-row">
            <span>
              {t('Denied: {count}. You can undo this for one minute.', { count: formatNumber(denied.ids.length) })}
            </span>
            <Button size="small" text="Undo" aria-keyshortcuts="z" onClick={undo} />
          </div>
        )}
      </div>
      <Missed rows={rows} decisions={decisions} />
    </div>
  )
}

function Missed({ rows, decisions: { missed, forgetMissed } }: Pick<Props, 'rows' | 'decisions'>) {
  if (missed.length === 0) return null
  return (
    <Notice tone="warning" text="Some registrations were left as they are:">
      <ul>
        {missed.map(({ id, code }) => (
          <li key={id}>
            {rows.find((row) => row.id === id)?.username} {translateRefusal({ fields: { code }, message: code })}
          </li>
        ))}
      </ul>
      <Button size="small" text="Done" onClick={forgetMissed} />
    </Notice>
  )
}
