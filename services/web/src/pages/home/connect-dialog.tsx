import { ApiError } from '@gatehouse/client'
import { useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { limitedLabel } from '../../parts/act-problem.tsx'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { hostOf } from '../../parts/host-of.ts'
import { PasswordField } from '../../parts/password-field.tsx'
import { readOrigin } from '../../parts/read-origin.ts'

/** Connects to another instance, or again to a listed one (`origin` not empty), with the password of the account here. */
export function ConnectDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const act = useAct()
  const announce = useAnnounce()
  const [address, setAddress] = useState(origin)
  const [password, setPassword] = useState('')
  const [pressed, setPressed] = useState(false)
  const target = readOrigin(address)
  const refused = isAboutPassword(act.error) ? act.error : null

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setPressed(true)
    if (!target || !password) return
    const done = await act.run((signal) => client.connections.connect(target, password, { signal }))
    if (!done) return
    announce(`Connected to ${hostOf(target)}.`)
    onClose()
  }
  return (
    <Dialog title={origin ? `Connect to ${hostOf(origin)}` : 'Connect an instance'} onClose={onClose} held={act.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <p className="quiet">
          You get an identity there that belongs to your account here. The password stays the same.
        </p>
        <Field
          label="Address of the instance"
          placeholder="chat.example"
          inputMode="url"
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          value={address}
          disabled={origin !== ''}
          onChange={(event) => (setAddress(event.target.value), act.clear())}
          error={pressed && !target ? 'Enter the address of an instance, like chat.example.' : null}
        />
        <PasswordField
          label="Your password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => (setPassword(event.target.value), act.clear())}
          error={pressed && !password ? 'Enter your password.' : (refused?.message ?? null)}
        />
        <DialogActions act={refused ? { ...act, error: null } : act}>
          <Button onClick={onClose} disabled={act.busy}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
            {limitedLabel(act, 'Connect')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}

/** A wrong password is refused by the own instance (403), one that differs there by the other (401). */
function isAboutPassword(error: Error | null): error is ApiError {
  if (!(error instanceof ApiError)) return false
  return error.status === 401 || (error.status === 403 && /password/i.test(error.message))
}
