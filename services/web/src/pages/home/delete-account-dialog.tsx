import { ApiError, listOwnedSpaces, type User } from '@gatehouse/client'
import { useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { keepFarewell } from '../../farewell.ts'
import { useAct } from '../../hooks/use-act.ts'
import { limitedLabel } from '../../parts/act-problem.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { IdentityResults } from '../../parts/identity-results.tsx'
import { OwnedSpaces } from '../../parts/owned-spaces.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { useDeletionResults } from './use-deletion-results.ts'

/** Deletes the account once its name and password were typed. Owned spaces that stand in the way are named. */
export function DeleteAccountDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const act = useAct()
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [pressed, setPressed] = useState(false)
  const [remotes, noteRemotes] = useDeletionResults()
  const local = user.homeInstance === null
  const misspelt = username.trim().toLowerCase() !== user.username.toLowerCase()
  const spaces = listOwnedSpaces(act.error)
  const wrong = act.error instanceof ApiError && act.error.status === 403 ? act.error.message : null

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setPressed(true)
    if (misspelt || (local && !password)) return
    await act.run(async () => {
      const outcome = await client.deleteAccount({ username: user.username, password })
      if (outcome.deleted) return keepFarewell(outcome.remotes)
      noteRemotes(outcome.remotes)
      throw outcome.error
    })
  }
  return (
    <Dialog title="Delete this account" onClose={onClose} held={act.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <p>
          Your profile, messages and friendships are removed, here and on connected instances. The name{' '}
          <strong>{user.username}</strong> becomes free for others.
        </p>
        <OwnedSpaces spaces={spaces} />
        {remotes && <IdentityResults results={remotes} />}
        <Field
          label="Your username"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={username}
          onChange={(event) => setUsername(event.target.value)}
          error={pressed && misspelt ? `Type ${user.username} to go on.` : null}
          hint={`Type ${user.username} to show that you mean it.`}
        />
        {local && (
          <PasswordField
            label="Your password"
            autoComplete="current-password"
            value={password}
            onChange={(event) => (setPassword(event.target.value), act.clear())}
            error={pressed && !password ? 'Enter your password.' : wrong}
          />
        )}
        <DialogActions act={spaces.length > 0 || wrong ? { ...act, error: null } : act}>
          <Button onClick={onClose} disabled={act.busy}>
            Cancel
          </Button>
          <Button type="submit" look="danger-solid" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
            {limitedLabel(act, 'Delete for good')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
