import type { DeletionMode, RemoteInstance } from '@gatehouse/client'
import { useState } from 'react'
import { DeletionResults, useDeletionResults } from '../../components/deletion-results.tsx'
import { Dialog } from '../../components/dialog.tsx'
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
  const submit = async () => {
    if (origins.length === 0) return
    await mutation.run(async (signal) =>
      addResults(await client.deleteFederationIdentities({ origins, mode }, { signal })),
    )
  }
  return (
    <Dialog
      title={t('Delete identities on other instances')}
      submit={t('Delete identities')}
      submitDisabled={origins.length === 0}
      dangerous
      closeLabel={results ? t('Done') : t('Cancel')}
      mutation={mutation}
      changed={results ? false : undefined}
      onSubmit={submit}
      onClose={onClose}
    >
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
    </Dialog>
  )
}
