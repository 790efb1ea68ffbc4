import type { DeletionMode, RemoteInstance } from '@gatehouse/client'
import { type SubmitEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { DeletionResults, useDeletionResults } from '../../components/deletion-results.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { submitLabel } from '../../components/error-message.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { RadioGroup } from '../../components/radio-group.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { t } from '../../language/language.ts'

const modes = [
  ['soft', 'Keep my messages', 'Others can still read them. They are shown as written by a deleted user.'],
  ['full', 'Delete my messages too', 'Your messages on these instances are deleted as well.'],
] as const

/** Deletes the identities on selected instances and shows the result of each. Contract: 7, fan-out. */
export function DeleteIdentitiesDialog({
  remotes,
  onClose,
}: {
  remotes: readonly RemoteInstance[]
  onClose: () => void
}) {
  const client = useClient()
  const mutation = useMutation()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [mode, setMode] = useState<DeletionMode>('soft')
  const [results, addResults] = useDeletionResults()
  const origins = remotes.map((remote) => remote.origin).filter((origin) => selected.has(origin))

  const toggle = (origin: string) => {
    const next = new Set(selected)
    if (!next.delete(origin)) next.add(origin)
    setSelected(next)
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (origins.length === 0) return
    await mutation.run(async (signal) =>
      addResults(await client.deleteFederationIdentities({ origins, mode }, { signal })),
    )
  }
  return (
    <Dialog title={t('Delete identities on other instances')} onClose={onClose} locked={mutation.busy}>
      <form className="stack" noValidate onSubmit={(event) => void submit(event)}>
        <fieldset className="stack stack--tight">
          <legend className="field__label">{t('Delete my identity on')}</legend>
          {remotes.map((remote) => (
            <label key={remote.origin} className="checkbox">
              <input
                type="checkbox"
                name="delete-identity"
                id={`delete-identity-${hostOf(remote.origin)}`}
                value={remote.origin}
                checked={selected.has(remote.origin)}
                onChange={() => toggle(remote.origin)}
              />
              {hostOf(remote.origin)}
            </label>
          ))}
          {remotes.length === 0 && <p className="muted">{t('No connected instances.')}</p>}
        </fieldset>
        <RadioGroup legend={t('My messages')} name="deletion-mode" value={mode} options={modes} onPick={setMode} />
        <div role="status">{results && <DeletionResults results={results} />}</div>
        <DialogActions mutation={mutation}>
          <Button onClick={onClose} disabled={mutation.busy}>
            {results ? t('Done') : t('Cancel')}
          </Button>
          <Button
            type="submit"
            variant="danger-solid"
            busy={mutation.busy}
            aria-disabled={origins.length === 0 || mutation.waitSeconds > 0}
          >
            {submitLabel(mutation, t('Delete identities'))}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
