import type { InstanceSettings } from '@gatehouse/client'
import { type SubmitEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { MutationError, submitLabel } from '../../components/error-message.tsx'
import { Field } from '../../components/field.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { t } from '../../language/language.ts'

export function InstanceNameForm({ name, onSaved }: { name: string; onSaved: (settings: InstanceSettings) => void }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const [typed, setTyped] = useState(name)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (!typed.trim()) return
    await mutation.run(async (signal) => {
      onSaved(await client.call('patchSettings', { body: { instanceName: typed.trim() }, signal }))
      showToast(t('Instance name saved.'))
    })
  }
  return (
    <section className="card" aria-labelledby="name-head">
      <div className="card__header">
        <h2 id="name-head">{t('Instance name')}</h2>
      </div>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <Field
          label={t('Name of this instance')}
          name="instance-name"
          autoComplete="off"
          maxLength={64}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          error={typed.trim() ? null : t('Enter a name.')}
          hint={t('Shown on the login page and to other instances.')}
        />
        {mutation.error && <MutationError mutation={mutation} />}
        <div className="button-row">
          <Button type="submit" busy={mutation.busy} aria-disabled={mutation.waitSeconds > 0}>
            {submitLabel(mutation, t('Save name'))}
          </Button>
        </div>
      </form>
    </section>
  )
}
