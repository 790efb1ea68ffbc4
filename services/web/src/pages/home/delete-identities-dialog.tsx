import type { DeletionMode, RemoteInstance } from '@gatehouse/client'
import { useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { limitedLabel } from '../../parts/act-problem.tsx'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { hostOf } from '../../parts/host-of.ts'
import { IdentityResults } from '../../parts/identity-results.tsx'
import { useDeletionResults } from './use-deletion-results.ts'

const modes = [
  ['soft', 'Keep my messages', 'Others still read what you wrote, from a deleted user.'],
  ['full', 'Delete my messages too', 'What you wrote there is removed with you.'],
] as const

/** Deletes identities on chosen instances and says what became of each. Contract: 7, fan-out. */
export function DeleteIdentitiesDialog({
  remotes,
  onClose,
}: {
  remotes: readonly RemoteInstance[]
  onClose: () => void
}) {
  const act = useAct()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [mode, setMode] = useState<DeletionMode>('soft')
  const [results, noteResults] = useDeletionResults()
  const origins = remotes.map((remote) => remote.origin).filter((origin) => chosen.has(origin))

  const toggle = (origin: string) => {
    const next = new Set(chosen)
    if (!next.delete(origin)) next.add(origin)
    setChosen(next)
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (origins.length === 0) return
    await act.run(async (signal) => noteResults(await client.deleteFederationIdentities({ origins, mode }, { signal })))
  }
  return (
    <Dialog title="Leave other instances" onClose={onClose} held={act.busy}>
      <form className="stack" noValidate onSubmit={(event) => void submit(event)}>
        <fieldset className="stack stack--tight">
          <legend className="field__label">Delete my identity on</legend>
          {remotes.map((remote) => (
            <label key={remote.origin} className="tick">
              <input type="checkbox" checked={chosen.has(remote.origin)} onChange={() => toggle(remote.origin)} />
              {hostOf(remote.origin)}
            </label>
          ))}
          {remotes.length === 0 && <p className="quiet">No instance is left on your list.</p>}
        </fieldset>
        <Choice legend="My messages" value={mode} options={modes} onPick={setMode} />
        <div role="status">{results && <IdentityResults results={results} />}</div>
        <DialogActions act={act}>
          <Button onClick={onClose} disabled={act.busy}>
            {results ? 'Done' : 'Cancel'}
          </Button>
          <Button
            type="submit"
            look="danger-solid"
            busy={act.busy}
            aria-disabled={origins.length === 0 || act.waitSeconds > 0}
          >
            {limitedLabel(act, 'Delete identities')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
