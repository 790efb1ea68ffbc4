import type { InstanceSettings } from '@gatehouse/client'
import { useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { ActProblem, limitedLabel } from '../../parts/act-problem.tsx'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'

export function InstanceNameForm({ name, onSaved }: { name: string; onSaved: (settings: InstanceSettings) => void }) {
  const act = useAct()
  const announce = useAnnounce()
  const [typed, setTyped] = useState(name)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!typed.trim()) return
    await act.run(async (signal) => {
      onSaved(await client.api.admin.changeSettings({ instanceName: typed.trim() }, { signal }))
      announce('The instance has a new name.')
    })
  }
  return (
    <section className="wall" aria-labelledby="name-head">
      <div className="wall__head">
        <h2 id="name-head">Name</h2>
      </div>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <Field
          label="Name of this instance"
          autoComplete="off"
          maxLength={64}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          error={typed.trim() ? null : 'Give it a name.'}
          hint="Shown on the way in and to other instances."
        />
        {act.error && <ActProblem act={act} />}
        <div className="button-row">
          <Button type="submit" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
            {limitedLabel(act, 'Save name')}
          </Button>
        </div>
      </form>
    </section>
  )
}
