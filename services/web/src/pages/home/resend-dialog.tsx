import { useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { limitedLabel } from '../../parts/act-problem.tsx'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { hostOf } from '../../parts/host-of.ts'
import { PasswordField } from '../../parts/password-field.tsx'

/** Passes the current password on to an instance that never got it. Spec: Client session behaviour, password propagation. */
export function ResendDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const act = useAct()
  const announce = useAnnounce()
  const [password, setPassword] = useState('')
  const [pressed, setPressed] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setPressed(true)
    if (!password) return
    const done = await act.run((signal) => client.passwordPropagation.resend(origin, password, { signal }))
    if (!done) return
    announce(`${hostOf(origin)} has your password now.`)
    onClose()
  }
  return (
    <Dialog title={`Send your password to ${hostOf(origin)}`} onClose={onClose} held={act.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <p className="quiet">It could not be reached when you changed your password, and still has the old one.</p>
        <PasswordField
          label="Your current password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={pressed && !password ? 'Enter your password.' : null}
        />
        <DialogActions act={act}>
          <Button onClick={onClose} disabled={act.busy}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
            {limitedLabel(act, 'Send')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
